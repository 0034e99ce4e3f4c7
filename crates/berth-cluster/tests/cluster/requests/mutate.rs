//! Changes honest certificate requests at random: their text, their bytes and their structure. What is changed in structure
//! is signed anew, so that Kubernetes refuses it for nothing else.

use rcgen::KeyPair;

use super::der::{
    ALTERNATIVE_NAME, BMP, CHALLENGE_PASSWORD, COMMON_NAME, IA5, NUMERIC, ORGANIZATION, PRINTABLE, Parts, T61, UNIT,
    UNIVERSAL, UNKNOWN_EXTENSION, UTF8, VISIBLE, attribute, dns_name, endless_tlv, extension_request, long_tlv, pair,
    part, pem, pem_as, sign, tlv, wide,
};

/// A stream of requests that is the same for the same seed, but for keys and signatures.
pub(super) struct Mutator {
    key: KeyPair,
    state: u64,
}

impl Mutator {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            key: KeyPair::generate().expect("a key"),
            state: seed,
        }
    }

    /// The request that the others are made from.
    pub(super) fn honest(&self) -> String {
        Parts::new(&self.key, "w1").pem(&self.key)
    }

    /// `SplitMix64`.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit.max(1)).expect("small");
        usize::try_from(self.random() % limit).expect("small")
    }

    fn byte(&mut self) -> u8 {
        self.random().to_be_bytes()[0]
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// The next request, and what was done to it.
    pub(super) fn next(&mut self) -> (String, Vec<u8>) {
        let mut how = Vec::new();
        let mut parts = Parts::new(&self.key, "w1");
        for _ in 0..self.below(3) {
            how.push(self.change_parts(&mut parts));
        }
        let mut info = parts.info();
        if self.below(4) == 0 {
            // The key is left alone: a request with another one would only be refused.
            let before = info.len() - parts.key.len() - 2;
            self.change_bytes(&mut info, before);
            how.push("bytes that are signed");
        }
        let mut der = sign(&self.key, &info);
        if self.below(6) == 0 {
            let whole = der.len();
            self.change_bytes(&mut der, whole);
            how.push("any bytes");
        }
        let mut text = pem(&der).into_bytes();
        if self.below(4) == 0 {
            how.push(self.change_text(&mut text, &der));
        }
        (how.join(", "), text)
    }

    fn tag(&mut self) -> u8 {
        self.one(&[
            UTF8, PRINTABLE, UTF8, PRINTABLE, T61, IA5, BMP, NUMERIC, UNIVERSAL, VISIBLE, 0x2C, 0x04,
        ])
    }

    fn name(&mut self) -> Vec<u8> {
        let tag = self.tag();
        let text = self.one(&[
            "system:node:w1",
            "system:node:w2",
            "system:node:",
            "admin",
            "system:node:w1\0",
        ]);
        let text = if tag == BMP {
            wide(text)
        } else {
            text.as_bytes().to_vec()
        };
        pair(COMMON_NAME, tag, &text)
    }

    fn organization(&mut self) -> Vec<u8> {
        let tag = self.tag();
        let text = self.one(&["system:nodes", "system:masters", ""]);
        let text = if tag == BMP {
            wide(text)
        } else {
            text.as_bytes().to_vec()
        };
        pair(ORGANIZATION, tag, &text)
    }

    fn change_parts(&mut self, parts: &mut Parts) -> &'static str {
        let place = self.below(parts.subject.len() + 1);
        match self.below(12) {
            0 => {
                parts.subject.swap(0, 1);
                "the order of the subject"
            }
            1 => {
                let (name, tag) = (*b"system:node:w1", self.tag());
                parts.subject[1] = part(COMMON_NAME, tag, &name);
                "the kind of the name"
            }
            2 => {
                let name = self.name();
                parts.subject[1] = tlv(0x31, &name);
                "another name"
            }
            3 => {
                let name = self.name();
                parts.subject.insert(place, tlv(0x31, &name));
                "a second name"
            }
            4 => {
                let organization = self.organization();
                parts.subject[0] = tlv(0x31, &organization);
                "another organization"
            }
            5 => {
                let organization = self.organization();
                parts.subject.insert(place, tlv(0x31, &organization));
                "a second organization"
            }
            6 => {
                let both = [self.name(), self.name()].concat();
                parts.subject.insert(place, tlv(0x31, &both));
                "two names in one part"
            }
            7 => {
                parts.subject.insert(place, part(UNIT, UTF8, b"x"));
                "a unit"
            }
            8 => {
                let name = dns_name("w2");
                let attribute = self.one(&[
                    extension_request(&[(ALTERNATIVE_NAME, &name)]),
                    extension_request(&[(UNKNOWN_EXTENSION, b"x")]),
                    extension_request(&[]),
                    attribute(CHALLENGE_PASSWORD, &tlv(UTF8, b"x")),
                    tlv(0x05, &[]),
                ]);
                parts.attributes.push(attribute);
                "an attribute"
            }
            9 => {
                parts.version = tlv(0x02, &[self.byte() % 3]);
                "the version"
            }
            10 => {
                let name = part(COMMON_NAME, UTF8, b"system:node:w2");
                parts.subject[1] = self.one(&[long_tlv(0x31, &name[2..]), endless_tlv(0x31, &name[2..])]);
                "a length"
            }
            _ => {
                parts.more = self.one(&[tlv(0x05, &[]), tlv(0xA0, &[]), vec![0]]);
                "something after the attributes"
            }
        }
    }

    /// Changes one to three of the first bytes.
    fn change_bytes(&mut self, bytes: &mut Vec<u8>, first: usize) {
        for _ in 0..=self.below(3) {
            let place = self.below(first.min(bytes.len()));
            match self.below(4) {
                0 => bytes[place] = self.byte(),
                1 => bytes[place] ^= 1 << self.below(8),
                2 => bytes.insert(place, self.byte()),
                _ => {
                    bytes.remove(place);
                }
            }
        }
    }

    fn change_text(&mut self, text: &mut Vec<u8>, der: &[u8]) -> &'static str {
        let other = Parts::new(&self.key, "w2").pem(&self.key);
        let lines: Vec<usize> = (0..text.len())
            .filter(|at| text[*at] == b'\n')
            .map(|at| at + 1)
            .collect();
        let line = self.one(&lines);
        match self.below(9) {
            0 => {
                let more = self.one(&["\n", "\r\n", " ", "\t", "a: b\n", "a: b\n\n", "x\n", "\0", "=", "-----"]);
                text.splice(line..line, more.bytes());
                "a line more"
            }
            1 => {
                let broken = String::from_utf8_lossy(text).replacen("-----END CERTIFICATE", "-----END CERTIFICATF", 1);
                *text = (broken + &other).into_bytes();
                "a wrong END and another block"
            }
            2 => {
                text.truncate(line);
                text.extend(other.bytes());
                "half a block and another one"
            }
            3 => {
                text.extend(other.bytes());
                "another block after it"
            }
            4 => {
                let whole = [other.as_bytes(), text.as_slice()].concat();
                *text = whole;
                "another block before it"
            }
            5 => {
                let (width, newline) = (self.one(&[60, 64, 76, 4096]), self.one(&["\n", "\r\n", "\r", "\n\n"]));
                *text = pem_as(der, "CERTIFICATE REQUEST", width, newline).into_bytes();
                "other lines"
            }
            6 => {
                let label = self.one(&["NEW CERTIFICATE REQUEST", "CERTIFICATE", "CERTIFICATE REQUEST "]);
                *text = pem_as(der, label, 64, "\n").into_bytes();
                "another label"
            }
            7 => {
                while text.last() == Some(&b'\n') {
                    text.pop();
                }
                "no newline at the end"
            }
            _ => {
                let whole = text.len();
                self.change_bytes(text, whole);
                "characters"
            }
        }
    }
}
