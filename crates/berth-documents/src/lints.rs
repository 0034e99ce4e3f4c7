//! The findings this crate can give, each with the explanation that `berth lint --explain CODE` prints.

use crate::{
    diagnostic::{Diagnostic, Lint, Severity},
    node::MAX_DEPTH,
    source::Span,
};

/// All lints of this crate, in the order they are documented.
pub const LINTS: &[&Lint] = &[
    &NOT_TEXT,
    &FILE_TOO_LARGE,
    &YAML_SYNTAX,
    &YAML_TAB,
    &JSON_SYNTAX,
    &DUPLICATE_KEY,
    &NON_STRING_KEY,
    &COMPLEX_KEY,
    &YAML_TAG,
    &MERGE_KEY,
    &RECURSIVE_ALIAS,
    &ALIAS_BOMB,
    &TOO_DEEP,
    &UNKNOWN_ENVELOPE,
    &TWO_ENVELOPES,
    &AIRSHIP_SCHEMA,
    &MISSING_NAME,
    &DOCUMENT_FORM,
    &LAYERING_FAILED,
    &SUBSTITUTION_FAILED,
    &DATA_SCHEMA,
];

/// The bytes of a file are not text.
pub(crate) static NOT_TEXT: Lint = Lint {
    code: "not-text",
    severity: Severity::Error,
    summary: "a file is neither UTF-8 nor UTF-16 text",
    explanation: "\
Documents are text. Files are read as UTF-8, or as UTF-16 where they begin with its byte order mark. This file holds
bytes that are neither, so it is probably not a document at all, or was saved in an old encoding such as Latin-1.

Save the file as UTF-8. If it is not a document (an archive, a picture), keep it out of the folder that is read.
",
};

/// A source is too large for 32-bit offsets, or holds more values than files of its size do.
pub(crate) static FILE_TOO_LARGE: Lint = Lint {
    code: "file-too-large",
    severity: Severity::Error,
    summary: "a file is 4 GiB or larger, or holds far more values than its size explains",
    explanation: "\
Positions in files are counted with 32 bits, so a file of 4 GiB or more is not read. A site of that size is kept in
several files: split the file at its `---` lines and give the folder that holds the parts.

Every value of a file takes memory, also where it is written in two bytes, as in `[1,1,1,1]`. A file may hold 200,000
values, and one more for every eight bytes; files that people and tools write have twenty bytes and more for each value.
A large file with more values than that is not read: check what wrote it.
",
};

/// The text is not YAML.
pub(crate) static YAML_SYNTAX: Lint = Lint {
    code: "yaml-syntax",
    severity: Severity::Error,
    summary: "the text is not YAML",
    explanation: "\
The document could not be read. The place shown is where reading had to stop; the cause is there or a little before it.
Frequent causes are a quote or bracket that is not closed, a line that is indented less or more than its neighbours, and
a value that contains `: ` or begins with a special character and is not quoted.

The broken document is left out. The other documents of the same file, before and after it, are still read.

Wrong:
    metadata:
      name: rack: 7

Right:
    metadata:
      name: \"rack: 7\"
",
};

/// A tab is used as indentation.
pub(crate) static YAML_TAB: Lint = Lint {
    code: "yaml-tab",
    severity: Severity::Error,
    summary: "a tab is used as indentation or instead of a space",
    explanation: "\
YAML is indented with spaces. A tab has no agreed width, so the standard forbids it at the beginning of a line, and
kubectl refuses such a file. Directly after the colon of a key a space is needed as well. Tabs inside quoted text, in block
scalars, before comments and in JSON are allowed.

Wrong (the second line begins with a tab):
    metadata:
    \tname: worker

Right:
    metadata:
      name: worker
",
};

/// The text begins as JSON and is neither JSON nor YAML.
pub(crate) static JSON_SYNTAX: Lint = Lint {
    code: "json-syntax",
    severity: Severity::Error,
    summary: "the text begins like JSON but is not JSON",
    explanation: "\
The text begins with `{` or `[`, so it was read as JSON. That failed at the place shown, and it is not YAML in flow style
either. Frequent causes are a missing comma, a missing closing bracket, and a file that was cut off.

Wrong:
    {\"kind\": \"Node\" \"apiVersion\": \"v1\"}

Right:
    {\"kind\": \"Node\", \"apiVersion\": \"v1\"}
",
};

/// A mapping has the same key twice.
pub(crate) static DUPLICATE_KEY: Lint = Lint {
    code: "duplicate-key",
    severity: Severity::Error,
    summary: "a mapping has the same key twice",
    explanation: "\
Each key of a mapping may be there once. Readers disagree about what a second one means: some take the first value, some
the last, some refuse the file. Mostly it is a label that was added without seeing that it is set already. The
other checks go on with the last value.

Wrong:
    labels:
      zone: a
      zone: b

Right:
    labels:
      zone: b
",
};

/// A key that YAML reads as something else than a string.
pub(crate) static NON_STRING_KEY: Lint = Lint {
    code: "non-string-key",
    severity: Severity::Warning,
    summary: "an unquoted key is read as a boolean or null by other tools",
    explanation: "\
Keys are strings. YAML as kubectl reads it takes an unquoted `yes`, `no`, `on`, `off`, `y`, `n`, `true` or `false` as a
boolean, also as a key, and `~`, `null` or an empty key as nothing. Berth keeps the key as it is written; other tools turn
`on` into `true`, or refuse the file. Quote the key and all tools agree.

Wrong:
    rows:
      n: 12

Right:
    rows:
      \"n\": 12
",
};

/// A key that is a list or a mapping.
pub(crate) static COMPLEX_KEY: Lint = Lint {
    code: "complex-key",
    severity: Severity::Error,
    summary: "a list or mapping is used as a key",
    explanation: "\
YAML allows lists and mappings as keys, JSON and Kubernetes do not. Mostly this is a template placeholder that was not
filled in: `{{ name }}` without quotes is a mapping in a mapping. The entry is left out.

Wrong:
    name: {{ node }}

Right:
    name: \"{{ node }}\"
",
};

/// A tag that does not fit its value, or that is not known.
pub(crate) static YAML_TAG: Lint = Lint {
    code: "yaml-tag",
    severity: Severity::Error,
    summary: "a tag is unknown or does not fit its value",
    explanation: "\
A tag such as `!!str` or `!!int` says how the value after it is to be read. The tags `!!str`, `!!int`, `!!float`,
`!!bool`, `!!null`, `!!binary`, `!!timestamp`, `!!seq` and `!!map` are known. Here the value cannot be read in the way its tag
says, or the tag is a private one that only the program it was written for understands.

Wrong:
    replicas: !!int three
    password: !vault secret

Right:
    replicas: 3
    password: secret
",
};

/// A merge key with something that cannot be merged.
pub(crate) static MERGE_KEY: Lint = Lint {
    code: "merge-key",
    severity: Severity::Error,
    summary: "the value of `<<` is not a mapping",
    explanation: "\
The key `<<` merges another mapping into this one; keys that are written out win over merged ones. Its value is a
mapping, or a list of mappings of which the first wins. Anything else cannot be merged and is left out.

Wrong:
    labels:
      <<: common

Right:
    labels:
      <<: *common
",
};

/// An alias inside the value of its own anchor.
pub(crate) static RECURSIVE_ALIAS: Lint = Lint {
    code: "recursive-alias",
    severity: Severity::Error,
    summary: "an alias stands inside the value it refers to",
    explanation: "\
An alias repeats the value that its anchor marks. Here the alias is a part of that value, so writing it out would never
end. Name another anchor, or write the value out.

Wrong:
    profile: &base
      parent: *base

Right:
    profile: &base
      parent: none
",
};

/// Aliases that expand to far more than the file holds.
pub(crate) static ALIAS_BOMB: Lint = Lint {
    code: "alias-bomb",
    severity: Severity::Error,
    summary: "aliases expand to far more than the file holds",
    explanation: "\
Aliases of aliases multiply: nine lines can stand for a billion values and fill the memory of every program that reads
them; so can one long text that a thousand aliases repeat. What aliases stand for is therefore limited in bytes, in
proportion to the size of the file, and this document goes beyond the limit. No site needs that: write the values out, or
use layering for what many documents share.

Wrong:
    a: &a [x, x, x, x, x, x, x, x, x]
    b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]
    c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]
    (and so on)

Right:
    a: &a [x, x, x]
    b: *a
",
};

/// A document nested beyond the limit.
pub(crate) static TOO_DEEP: Lint = Lint {
    code: "too-deep",
    severity: Severity::Error,
    summary: "a document is nested more than 128 levels deep",
    explanation: "\
Lists and mappings may be nested 128 levels deep. Real documents stay below twenty; more is a sign of a generator that
runs in circles, or of an attempt to exhaust the reader. The document is left out.

Wrong:
    value: [[[[[[[[ … 200 levels … ]]]]]]]]

Right:
    value: [[1, 2], [3, 4]]
",
};

/// The finding for a document nested beyond the limit, which every reader reports alike.
pub(crate) fn too_deep(span: Span) -> Diagnostic {
    let message = format!("the document is nested more than {MAX_DEPTH} levels deep here");
    Diagnostic::new(&TOO_DEEP, span, message).with_help(format!(
        "lists and mappings may be nested {MAX_DEPTH} levels deep; check what wrote the file, and that every bracket is closed"
    ))
}

/// The finding for a file with more values than its size explains.
pub(crate) fn too_many_values(span: Span) -> Diagnostic {
    Diagnostic::new(
        &FILE_TOO_LARGE,
        span,
        "the file holds far more values than its size explains, and is not read from here on",
    )
    .with_help(format!(
        "split the file, or check what wrote it; {}",
        crate::allowance::values_limit()
    ))
}

/// A document without a known envelope.
pub(crate) static UNKNOWN_ENVELOPE: Lint = Lint {
    code: "unknown-envelope",
    severity: Severity::Error,
    summary: "a document has neither apiVersion and kind nor schema",
    explanation: "\
A document says what it is in its envelope. Two envelopes are known: Kubernetes documents have `apiVersion` and `kind`,
Airship documents have `schema`, and both have `metadata`. This document has neither, so nothing can be done with it.
Files that are not documents (values of a chart, CI settings) are kept out of the folder that is read.

Wrong:
    name: worker-1
    labels: {}

Right (Kubernetes):
    apiVersion: v1
    kind: Node
    metadata:
      name: worker-1

Right (Airship):
    schema: drydock/BaremetalNode/v1
    metadata:
      name: worker-1
    data: {}
",
};

/// A document with both envelopes.
pub(crate) static TWO_ENVELOPES: Lint = Lint {
    code: "two-envelopes",
    severity: Severity::Error,
    summary: "a document has both apiVersion and kind, and schema",
    explanation: "\
A document is either a Kubernetes document (`apiVersion`, `kind`, `metadata`, `spec`) or an Airship document (`schema`,
`metadata`, `data`). This one has the fields of both, so it would mean different things to different readers. It is read as
a Kubernetes document here. Mostly a `---` line is missing between two documents.

Wrong:
    apiVersion: v1
    kind: Node
    schema: drydock/BaremetalNode/v1

Right:
    apiVersion: v1
    kind: Node
    ---
    schema: drydock/BaremetalNode/v1
",
};

/// An Airship schema that is not of the form `namespace/Kind/vN`.
pub(crate) static AIRSHIP_SCHEMA: Lint = Lint {
    code: "airship-schema",
    severity: Severity::Error,
    summary: "a schema is not of the form namespace/Kind/vN",
    explanation: "\
The schema of an Airship document names its kind: a namespace, the kind and a version, with slashes between them.
Namespace and kind are letters only, the version is `v` and a number. Without that form the kind cannot be told.

Wrong:
    schema: BaremetalNode

Right:
    schema: drydock/BaremetalNode/v1
",
};

/// A document without a name.
pub(crate) static MISSING_NAME: Lint = Lint {
    code: "missing-name",
    severity: Severity::Error,
    summary: "a document has no metadata.name",
    explanation: "\
Documents refer to each other by kind and name, and findings name the document they are about, so every document needs
`metadata.name`. A name is a string: one that looks like a number or a boolean is quoted. Lists, and configuration files
such as a Kustomization, need none.

Wrong:
    kind: Node
    metadata:
      labels: {}

Right:
    kind: Node
    metadata:
      name: worker-1
      labels: {}
",
};

/// A document that is layered or stored has not the form for it.
pub(crate) static DOCUMENT_FORM: Lint = Lint {
    code: "document-form",
    severity: Severity::Error,
    summary: "a document to be layered or stored does not have the required form",
    explanation: "\
Airship documents are layered and stored by Deckhand's rules, which are strict about the form: `schema`, `metadata` and
`data` and nothing else; in `metadata` the name, `schema: metadata/Document/v1`, a `storagePolicy` and a
`layeringDefinition` with the layer. A `parentSelector` needs `actions`, and the other way round. Documents that steer the
rendering itself have `schema: metadata/Control/v1` and need no layer.

This is looked at in a folder with a LayeringPolicy and when documents are stored; elsewhere the short form is enough.

Wrong:
    schema: drydock/Rack/v1
    metadata:
      name: r1
    data: {}

Right:
    schema: drydock/Rack/v1
    metadata:
      schema: metadata/Document/v1
      name: r1
      storagePolicy: cleartext
      layeringDefinition: {abstract: false, layer: site}
    data: {}
",
};

/// Layers that do not fit together.
pub(crate) static LAYERING_FAILED: Lint = Lint {
    code: "layering-failed",
    severity: Severity::Error,
    summary: "documents cannot be layered",
    explanation: "\
A folder with a LayeringPolicy is layered before the site is made: a document with a `parentSelector` starts from the data
of its parent, the document of the same schema in the nearest higher layer that has all these labels, and then its
`actions` merge, replace or delete parts of it. The message says what does not fit: a layer that the policy does not name, a
parent that cannot be told or is not above, an action whose path names nothing, a document that is there twice, or two
documents of one name without `replacement: true` on the lower one.

All documents involved are shown. Nothing else is looked at until layering works: half of the layers would only give more
findings.

Wrong:
    layeringDefinition:
      layer: site
      parentSelector: {rack: any}
      actions: [{method: delete, path: .no.such.key}]

Right:
    layeringDefinition:
      layer: site
      parentSelector: {rack: any}
      actions: [{method: merge, path: .}]
",
};

/// A value that cannot be taken from another document.
pub(crate) static SUBSTITUTION_FAILED: Lint = Lint {
    code: "substitution-failed",
    severity: Severity::Error,
    summary: "a value cannot be taken from another document",
    explanation: "\
A substitution takes a value out of the rendered data of another document. The message says what is missing: the source
document (it must be in the same set and not abstract), the value at its path, or the text that the pattern is looked for in.
Documents that need values of each other in a circle cannot be rendered at all; the circle is shown.

Wrong (the document is called `ntp-servers`):
    substitutions:
    - src: {schema: example/Servers/v1, name: ntp, path: .first}
      dest: {path: .ntp}

Right:
    substitutions:
    - src: {schema: example/Servers/v1, name: ntp-servers, path: .first}
      dest: {path: .ntp}
",
};

/// Rendered data that its `DataSchema` does not allow.
pub(crate) static DATA_SCHEMA: Lint = Lint {
    code: "data-schema",
    severity: Severity::Error,
    summary: "the rendered data of a document does not meet its DataSchema",
    explanation: "\
A `deckhand/DataSchema/v1` document is a JSON Schema for all documents whose schema is its name. It is applied to the data
after layering and substitution. The place shown is where the value is written, which may be a document of a higher layer or
the source of a substitution; the schema that asks for something else is shown beside it.

Change the value, or the schema where it is the schema that is wrong.
",
};

#[cfg(test)]
mod tests;
