//! Certificate requests that were made by hand, with what Berth and Kubernetes make of them.

use rcgen::KeyPair;

use super::der::*;

/// What Kubernetes does with a request, as far as names go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Go {
    /// It reads this node's name, and would sign.
    Signs(&'static str),
    /// It refuses it, as unreadable or as no kubelet's.
    Refuses,
}

pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) request: Vec<u8>,
    /// What is wrong with it, in Berth's words; `None` for one that is right.
    pub(super) problem: Option<&'static str>,
    pub(super) go: Go,
}

const SIGNS: Go = Go::Signs("w1");
/// The token is that of `w1`, and the certificate would be that of `w2`.
const ATTACK: Go = Go::Signs("w2");

const ONE_BLOCK: &str = "nothing but one PEM block";
const BEGINS: &str = "must begin with";
const ENDS: &str = "must end with";
const NOT_DER: &str = "is not DER";
const LENGTH: &str = "has a length";
const TEXTS: &str = "a UTF8String or a PrintableString";
const ONCE: &str = "one organization and one common name";
const SINGLE: &str = "one attribute in each part";
const NODES: &str = "must have the organization system:nodes";
const NAME: &str = "must have the common name system:node:NAME";
const OTHERS: &str = "nothing but an organization and a common name";
const ATTRIBUTES: &str = "must have no attributes";

struct Table {
    key: KeyPair,
    cases: Vec<Case>,
}

impl Table {
    fn add(&mut self, name: &'static str, request: impl Into<Vec<u8>>, problem: Option<&'static str>, go: Go) {
        self.cases.push(Case {
            name,
            request: request.into(),
            problem,
            go,
        });
    }

    fn honest(&self, node: &str) -> Parts {
        Parts::new(&self.key, node)
    }

    /// One with other parts.
    fn with(&mut self, name: &'static str, problem: Option<&'static str>, go: Go, change: impl FnOnce(&mut Parts)) {
        let mut parts = self.honest("w1");
        change(&mut parts);
        let pem = parts.pem(&self.key);
        self.add(name, pem, problem, go);
    }

    /// One with another subject.
    fn subject(&mut self, name: &'static str, problem: Option<&'static str>, go: Go, subject: &[Vec<u8>]) {
        self.with(name, problem, go, |parts| parts.subject = subject.to_vec());
    }

    /// One with another common name.
    fn named(&mut self, name: &'static str, problem: Option<&'static str>, go: Go, tag: u8, text: &[u8]) {
        let organization = part(ORGANIZATION, UTF8, b"system:nodes");
        self.subject(name, problem, go, &[organization, part(COMMON_NAME, tag, text)]);
    }
}

/// All of them.
pub(super) fn cases() -> Vec<Case> {
    let mut table = Table {
        key: KeyPair::generate().expect("a key"),
        cases: Vec::new(),
    };
    blocks(&mut table);
    lines(&mut table);
    texts(&mut table);
    subjects(&mut table);
    attributes(&mut table);
    structures(&mut table);
    keys(&mut table);
    table.cases
}

/// What stands around the block.
fn blocks(table: &mut Table) {
    let [first, second] = ["w1", "w2"].map(|node| table.honest(node).pem(&table.key));
    let der = table.honest("w1").der(&table.key);
    let body = first.lines().nth(1).expect("a body").to_owned();
    table.add("as it should be", first.clone(), None, SIGNS);
    table.add("without the last newline", first.trim_end(), None, SIGNS);
    let wrong_end = first.replace("-----END CERTIFICATE REQUEST", "-----END CERTIFICATE REQUESX");
    table.add(
        "a first block whose END does not match",
        wrong_end.clone() + &second,
        Some(ONE_BLOCK),
        ATTACK,
    );
    table.add("a block whose END does not match", wrong_end, Some(ENDS), Go::Refuses);
    let cut = format!("-----BEGIN CERTIFICATE REQUEST-----\n{body}\n{second}");
    table.add("a first block without an END", cut, Some(ONE_BLOCK), ATTACK);
    let first_bad = first.replace(&body, &format!("{body}!"));
    table.add(
        "a first block that is not base64",
        first_bad + &second,
        Some(ONE_BLOCK),
        ATTACK,
    );
    table.add("two blocks", first.clone() + &second, Some(ONE_BLOCK), SIGNS);
    table.add("the same block twice", first.clone() + &first, Some(ONE_BLOCK), SIGNS);
    table.add(
        "another kind of block before",
        pem_as(&der, "CERTIFICATE", 64, "\n") + &first,
        Some(BEGINS),
        Go::Refuses,
    );
    table.add("text before", format!("hello\n{first}"), Some(BEGINS), SIGNS);
    table.add("a blank line before", format!("\n{first}"), Some(BEGINS), SIGNS);
    table.add(
        "a byte order mark before",
        format!("\u{feff}{first}"),
        Some(BEGINS),
        Go::Refuses,
    );
    table.add("text after", format!("{first}hello\n"), Some(ENDS), SIGNS);
    table.add("two newlines after", format!("{first}\n"), Some(ENDS), SIGNS);
    table.add("a NUL after", format!("{first}\0"), Some(ENDS), SIGNS);
    let with = |line: &str| first.replacen("REQUEST-----\n", &format!("REQUEST-----\n{line}"), 1);
    table.add("a header", with("Proc-Type: 4,ENCRYPTED\n\n"), Some(ONE_BLOCK), SIGNS);
    table.add("a header without a blank line", with("a: b\n"), Some(ONE_BLOCK), SIGNS);
    for (name, label) in [
        ("the old label", "NEW CERTIFICATE REQUEST"),
        ("another label", "CERTIFICATE"),
        ("a label in small letters", "certificate request"),
        ("a label with a space", "CERTIFICATE REQUEST "),
        ("no label", ""),
    ] {
        table.add(name, pem_as(&der, label, 64, "\n"), Some(BEGINS), Go::Refuses);
    }
    table.add("four dashes", first.replace("-----", "----"), Some(BEGINS), Go::Refuses);
    table.add("nothing", "", Some(BEGINS), Go::Refuses);
    table.add("DER without PEM", der, Some("is not PEM"), Go::Refuses);
    let empty = "-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n";
    table.add("an empty block", empty, Some(ENDS), Go::Refuses);
}

/// How the lines of the block are written.
fn lines(table: &mut Table) {
    let parts = table.honest("w1");
    let der = parts.der(&table.key);
    let good = pem(&der);
    let wrapped = |width: usize, newline: &str| pem_as(&der, "CERTIFICATE REQUEST", width, newline);
    table.add("CRLF", wrapped(64, "\r\n"), Some(BEGINS), SIGNS);
    table.add("CR", wrapped(64, "\r"), Some(BEGINS), Go::Refuses);
    table.add("lines of 76", wrapped(76, "\n"), Some(ONE_BLOCK), SIGNS);
    table.add("lines of 60", wrapped(60, "\n"), Some(ONE_BLOCK), SIGNS);
    table.add("one line", wrapped(100_000, "\n"), Some(ONE_BLOCK), SIGNS);
    let body = good.lines().nth(1).expect("a body").to_owned();
    for (name, line) in [
        ("a space at the end of a line", format!("{body} ")),
        ("a space at the begin of a line", format!(" {body}")),
        ("a tab in a line", format!("{}\t{}", &body[..9], &body[9..])),
        ("a CR in one line", format!("{body}\r")),
        ("a blank line inside", format!("{body}\n")),
    ] {
        table.add(name, good.replacen(&body, &line, 1), Some(ONE_BLOCK), SIGNS);
    }
    table.add(
        "a space after END",
        good.trim_end().to_owned() + " \n",
        Some(ENDS),
        SIGNS,
    );
    let begin = good.replacen("REQUEST-----\n", "REQUEST----- \n", 1);
    table.add("a space after BEGIN", begin, Some(BEGINS), SIGNS);
    // A line that is as long as it should be.
    let dotted = good.replacen(&body, &format!("{}.{}", &body[..9], &body[10..]), 1);
    table.add("another character than base64", dotted, Some("base64"), Go::Refuses);
    let bits = "-----BEGIN CERTIFICATE REQUEST-----\nMB==\n-----END CERTIFICATE REQUEST-----\n";
    table.add("bits that are left over in base64", bits, Some("base64"), Go::Refuses);
    let unpadded = "-----BEGIN CERTIFICATE REQUEST-----\nMA\n-----END CERTIFICATE REQUEST-----\n";
    table.add("base64 without its padding", unpadded, Some("base64"), Go::Refuses);
}

/// How the common name is written.
fn texts(table: &mut Table) {
    let name = b"system:node:w1";
    table.named("UTF8String", None, SIGNS, UTF8, name);
    table.named("PrintableString", None, SIGNS, PRINTABLE, name);
    table.named("IA5String", Some(TEXTS), SIGNS, IA5, name);
    table.named("T61String", Some(TEXTS), SIGNS, T61, name);
    table.named("BMPString", Some(TEXTS), SIGNS, BMP, &wide("system:node:w1"));
    table.named("UniversalString", Some(TEXTS), Go::Refuses, UNIVERSAL, name);
    table.named("VisibleString", Some(TEXTS), Go::Refuses, VISIBLE, name);
    table.named("NumericString", Some(TEXTS), Go::Refuses, NUMERIC, b"1");
    table.named("a string in parts", Some(TEXTS), Go::Refuses, 0x2C, &tlv(UTF8, name));
    table.named("an OCTET STRING", Some(TEXTS), Go::Refuses, 0x04, name);
    table.named(
        "text that is not UTF-8",
        Some("text"),
        Go::Refuses,
        UTF8,
        b"system:node:w1\xff",
    );
    // What Kubernetes reads and no Node can be called.
    for (name, common_name) in [
        ("a NUL in the name", "system:node:w1\0"),
        ("a newline in the name", "system:node:w1\n"),
        ("a capital letter", "system:node:W1"),
        ("a slash", "system:node:w1/status"),
        ("a space before the name", "system:node: w1"),
        ("an invisible character", "system:node:w\u{200b}1"),
        ("a letter that looks like another", "system:node:\u{ff57}1"),
        ("two prefixes", "system:node:system:node:w1"),
        ("a dot at the end", "system:node:w1."),
        ("no name", "system:node:"),
    ] {
        let node: &'static str = common_name.strip_prefix("system:node:").expect("a prefix");
        table.named(name, Some(NAME), Go::Signs(node), UTF8, common_name.as_bytes());
    }
    for (name, common_name) in [
        ("another prefix", "system:masters:w1"),
        ("a prefix in capitals", "System:Node:w1"),
        ("an administrator", "kubernetes-admin"),
        ("an empty common name", ""),
    ] {
        table.named(name, Some(NAME), Go::Refuses, UTF8, common_name.as_bytes());
    }
}

/// What the subject consists of.
fn subjects(table: &mut Table) {
    let organization = part(ORGANIZATION, UTF8, b"system:nodes");
    let [first, second] = ["system:node:w1", "system:node:w2"].map(|name| part(COMMON_NAME, UTF8, name.as_bytes()));
    let wide_second = part(COMMON_NAME, BMP, &wide("system:node:w2"));
    let teletex_second = part(COMMON_NAME, T61, b"system:node:w2");
    let swapped = [first.clone(), organization.clone()];
    table.subject("the common name first", None, SIGNS, &swapped);
    for (name, other, problem) in [
        ("a second common name", &second, ONCE),
        ("a second common name in BMPString", &wide_second, TEXTS),
        ("a second common name in T61String", &teletex_second, TEXTS),
    ] {
        let subject = [organization.clone(), first.clone(), other.clone()];
        table.subject(name, Some(problem), ATTACK, &subject);
    }
    let twice = [organization.clone(), first.clone(), first.clone()];
    table.subject("the same common name twice", Some(ONCE), SIGNS, &twice);
    for (name, tag, text, problem) in [
        ("the organization in BMPString", BMP, wide("system:nodes"), TEXTS),
        ("the organization in T61String", T61, b"system:nodes".to_vec(), TEXTS),
    ] {
        let subject = [part(ORGANIZATION, tag, &text), first.clone()];
        table.subject(name, Some(problem), SIGNS, &subject);
    }
    let masters = part(ORGANIZATION, UTF8, b"system:masters");
    let wide_masters = part(ORGANIZATION, BMP, &wide("system:masters"));
    let both = [organization.clone(), masters.clone(), first.clone()];
    table.subject("two organizations", Some(ONCE), Go::Refuses, &both);
    let hidden = [organization.clone(), wide_masters, first.clone()];
    table.subject("another organization in BMPString", Some(TEXTS), Go::Refuses, &hidden);
    let same = [organization.clone(), organization.clone(), first.clone()];
    table.subject("the same organization twice", Some(ONCE), Go::Refuses, &same);
    table.subject(
        "another organization",
        Some(NODES),
        Go::Refuses,
        &[masters, first.clone()],
    );
    table.subject(
        "no organization",
        Some(NODES),
        Go::Refuses,
        std::slice::from_ref(&first),
    );
    table.subject(
        "no common name",
        Some(NAME),
        Go::Refuses,
        std::slice::from_ref(&organization),
    );
    table.subject("no subject", Some(NODES), Go::Refuses, &[]);
    let pairs = [
        pair(ORGANIZATION, UTF8, b"system:nodes"),
        pair(COMMON_NAME, UTF8, b"system:node:w1"),
        pair(COMMON_NAME, UTF8, b"system:node:w2"),
    ];
    table.subject(
        "both in one part",
        Some(SINGLE),
        SIGNS,
        &[tlv(0x31, &pairs[..2].concat())],
    );
    let names = [organization.clone(), tlv(0x31, &pairs[1..].concat())];
    table.subject("two common names in one part", Some(SINGLE), ATTACK, &names);
    let unit = [organization.clone(), first.clone(), part(UNIT, UTF8, b"x")];
    table.subject("an organizational unit", Some(OTHERS), SIGNS, &unit);
    let empty = [organization.clone(), first.clone(), tlv(0x31, &[])];
    table.subject("an empty part", Some(NOT_DER), SIGNS, &empty);
    let three = [
        &tlv(0x06, COMMON_NAME),
        &tlv(UTF8, b"system:node:w1"),
        &tlv(UTF8, b"system:node:w2"),
    ];
    let three = tlv(0x31, &sequence(&three.map(Vec::as_slice)));
    table.subject(
        "a second value",
        Some("one value for each"),
        SIGNS,
        &[organization, three],
    );
}

fn attributes(table: &mut Table) {
    let name = dns_name("w1.example");
    let alternative = extension_request(&[(ALTERNATIVE_NAME, &name)]);
    let usage = extension_request(&[(KEY_USAGE, &[0x03, 0x02, 0x05, 0xA0])]);
    let unknown = extension_request(&[(UNKNOWN_EXTENSION, b"x")]);
    let nothing = extension_request(&[]);
    let password = attribute(CHALLENGE_PASSWORD, &tlv(PRINTABLE, b"secret"));
    for (name, attributes, go) in [
        ("a subject alternative name", vec![alternative.clone()], Go::Refuses),
        (
            "one in a second extension request",
            vec![usage.clone(), alternative],
            Go::Refuses,
        ),
        ("an extension that is known", vec![usage], SIGNS),
        ("an extension that is not", vec![unknown], SIGNS),
        ("a request for no extension", vec![nothing], SIGNS),
        ("a challenge password", vec![password], SIGNS),
        ("an attribute that cannot be read", vec![tlv(0x04, b"x")], SIGNS),
    ] {
        table.with(name, Some(ATTRIBUTES), go, |parts| parts.attributes = attributes);
    }
}

/// How the whole is put together.
fn structures(table: &mut Table) {
    let parts = table.honest("w1");
    let (info, der) = (parts.info(), parts.der(&table.key));
    let version = |table: &mut Table, name, bytes: Vec<u8>, problem, go| {
        table.with(name, Some(problem), go, |parts| parts.version = bytes);
    };
    version(table, "version 2", tlv(0x02, &[1]), "version 1", SIGNS);
    version(
        table,
        "a version of two bytes",
        tlv(0x02, &[0, 0]),
        "version 1",
        Go::Refuses,
    );
    version(table, "a negative version", tlv(0x02, &[0xFF]), "version 1", SIGNS);
    version(table, "no version", Vec::new(), NOT_DER, Go::Refuses);
    table.with("bytes after the attributes", Some("has more than"), SIGNS, |parts| {
        parts.more = tlv(0x05, &[]);
    });
    let unattributed = tlv(
        0x30,
        &[parts.version.clone(), tlv(0x30, &parts.subject.concat()), parts.key].concat(),
    );
    table.add(
        "no attributes",
        pem(&sign(&table.key, &unattributed)),
        Some(NOT_DER),
        Go::Refuses,
    );
    table.add(
        "bytes after the end",
        pem(&[der.as_slice(), b"\x05\x00"].concat()),
        Some("bytes after its end"),
        Go::Refuses,
    );
    let inner = contents(&der);
    let inside = tlv(0x30, &[inner, b"\x05\x00"].concat());
    table.add(
        "bytes after the signature",
        pem(&inside),
        Some("after its signature"),
        SIGNS,
    );
    table.add(
        "a longer length than it has to be",
        pem(&long_tlv(0x30, inner)),
        Some(LENGTH),
        Go::Refuses,
    );
    table.add("no length", pem(&endless_tlv(0x30, inner)), Some(LENGTH), Go::Refuses);
    let info_inner = contents(&info);
    for (name, info) in [
        ("a longer length inside", long_tlv(0x30, info_inner)),
        ("no length inside", endless_tlv(0x30, info_inner)),
    ] {
        table.add(name, pem(&sign(&table.key, &info)), Some(LENGTH), Go::Refuses);
    }
    let long_name = tlv(
        0x31,
        &sequence(&[
            &tlv(0x06, COMMON_NAME),
            &[&[UTF8, 0x81, 14], b"system:node:w1".as_slice()].concat(),
        ]),
    );
    let subject = [part(ORGANIZATION, UTF8, b"system:nodes"), long_name];
    table.subject("a longer length of the name", Some(LENGTH), Go::Refuses, &subject);
    table.add("half of it", pem(&der[..der.len() / 2]), Some(NOT_DER), Go::Refuses);
    table.add(
        "a tag of several bytes",
        pem(&[&[0x3F, 0x10], &der[1..]].concat()),
        Some(NOT_DER),
        Go::Refuses,
    );
    let padded = table.honest("w1").pem(&table.key) + &"\n".repeat(9000);
    table.add("far too long", padded, Some("too long"), SIGNS);
}

/// Keys and signatures.
fn keys(table: &mut Table) {
    let parts = table.honest("w1");
    let info = parts.info();
    let der = parts.der(&table.key);
    let signature = &contents(&der)[info.len() + ecdsa().len()..];
    let bits = &contents(signature)[1..];
    let whole = |info: &[u8], algorithm: &[u8], signature: &[u8]| pem(&sequence(&[info, algorithm, signature]));
    let sha1 = sequence(&[&tlv(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x01])]);
    table.add(
        "SHA-1",
        whole(&info, &sha1, signature),
        Some("must be signed with"),
        Go::Refuses,
    );
    let with_null = sequence(&[&tlv(0x06, &[0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02]), &[5, 0]]);
    table.add(
        "ECDSA with NULL",
        whole(&info, &with_null, signature),
        Some("must be signed with"),
        SIGNS,
    );
    let odd = tlv(0x03, &[&[1], bits].concat());
    table.add(
        "a signature of odd bits",
        whole(&info, &ecdsa(), &odd),
        Some("whole bytes"),
        Go::Refuses,
    );
    table.add(
        "no signature",
        whole(&info, &ecdsa(), &tlv(0x03, &[])),
        Some("whole bytes"),
        Go::Refuses,
    );
    let mut unknown = parts;
    unknown.key = sequence(&[&sequence(&[&tlv(0x06, &[0x2A, 0x03, 0x04])]), &tlv(0x03, &[0, 1, 2])]);
    table.add(
        "an unknown key",
        unknown.pem(&table.key),
        Some("must have an RSA"),
        Go::Refuses,
    );
}
