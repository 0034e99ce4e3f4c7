//! The numbers of the fields, by kind.

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Bytes,
    Number,
    /// A number for which zero is not the same as nothing.
    Pointer,
    Flag,
    Time,
    IntOrText,
    Message(&'static [Field]),
    List(&'static Self),
    Map(&'static Self),
}

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) name: &'static str,
    pub(super) form: Form,
}

const fn field(number: u64, name: &'static str, form: Form) -> Field {
    Field { number, name, form }
}

const TEXTS: Form = Form::List(&Form::Text);
const TEXT_MAP: Form = Form::Map(&Form::Text);

const OWNER: &[Field] = &[
    field(1, "kind", Form::Text),
    field(3, "name", Form::Text),
    field(4, "uid", Form::Text),
    field(5, "apiVersion", Form::Text),
    field(6, "controller", Form::Flag),
    field(7, "blockOwnerDeletion", Form::Flag),
];

const METADATA: &[Field] = &[
    field(1, "name", Form::Text),
    field(2, "generateName", Form::Text),
    field(3, "namespace", Form::Text),
    field(5, "uid", Form::Text),
    field(6, "resourceVersion", Form::Text),
    field(7, "generation", Form::Number),
    field(8, "creationTimestamp", Form::Time),
    field(9, "deletionTimestamp", Form::Time),
    field(10, "deletionGracePeriodSeconds", Form::Pointer),
    field(11, "labels", TEXT_MAP),
    field(12, "annotations", TEXT_MAP),
    field(13, "ownerReferences", Form::List(&Form::Message(OWNER))),
    field(14, "finalizers", TEXTS),
];

const META: Field = field(1, "metadata", Form::Message(METADATA));

const NAMESPACE: &[Field] = &[
    META,
    field(2, "spec", Form::Message(&[field(1, "finalizers", TEXTS)])),
    field(3, "status", Form::Message(&[field(1, "phase", Form::Text)])),
];

const CONFIG_MAP: &[Field] = &[
    META,
    field(2, "data", TEXT_MAP),
    field(3, "binaryData", Form::Map(&Form::Bytes)),
    field(4, "immutable", Form::Flag),
];

const SECRET: &[Field] = &[
    META,
    field(2, "data", Form::Map(&Form::Bytes)),
    field(3, "type", Form::Text),
    field(4, "stringData", TEXT_MAP),
    field(5, "immutable", Form::Flag),
];

const REQUEST_CONDITION: &[Field] = &[
    field(1, "type", Form::Text),
    field(2, "reason", Form::Text),
    field(3, "message", Form::Text),
    field(4, "lastUpdateTime", Form::Time),
    field(5, "lastTransitionTime", Form::Time),
    field(6, "status", Form::Text),
];

const REQUEST: &[Field] = &[
    META,
    field(
        2,
        "spec",
        Form::Message(&[
            field(1, "request", Form::Bytes),
            field(2, "username", Form::Text),
            field(3, "uid", Form::Text),
            field(4, "groups", TEXTS),
            field(5, "usages", TEXTS),
            field(7, "signerName", Form::Text),
            field(8, "expirationSeconds", Form::Pointer),
        ]),
    ),
    field(
        3,
        "status",
        Form::Message(&[
            field(1, "conditions", Form::List(&Form::Message(REQUEST_CONDITION))),
            field(2, "certificate", Form::Bytes),
        ]),
    ),
];

const DELETE_OPTIONS: &[Field] = &[
    field(1, "gracePeriodSeconds", Form::Pointer),
    field(
        2,
        "preconditions",
        Form::Message(&[field(1, "uid", Form::Text), field(2, "resourceVersion", Form::Text)]),
    ),
    field(3, "orphanDependents", Form::Flag),
    field(4, "propagationPolicy", Form::Text),
    field(5, "dryRun", TEXTS),
];

const EVICTION: &[Field] = &[META, field(2, "deleteOptions", Form::Message(DELETE_OPTIONS))];

const ACCESS_REVIEW: &[Field] = &[
    META,
    field(
        2,
        "spec",
        Form::Message(&[
            field(
                1,
                "resourceAttributes",
                Form::Message(&[
                    field(1, "namespace", Form::Text),
                    field(2, "verb", Form::Text),
                    field(3, "group", Form::Text),
                    field(4, "version", Form::Text),
                    field(5, "resource", Form::Text),
                    field(6, "subresource", Form::Text),
                    field(7, "name", Form::Text),
                ]),
            ),
            field(
                2,
                "nonResourceAttributes",
                Form::Message(&[field(1, "path", Form::Text), field(2, "verb", Form::Text)]),
            ),
            field(3, "user", Form::Text),
            field(4, "groups", TEXTS),
        ]),
    ),
];

const BUDGET: &[Field] = &[
    META,
    field(
        2,
        "spec",
        Form::Message(&[
            field(1, "minAvailable", Form::IntOrText),
            field(
                2,
                "selector",
                Form::Message(&[
                    field(1, "matchLabels", TEXT_MAP),
                    field(
                        2,
                        "matchExpressions",
                        Form::List(&Form::Message(&[
                            field(1, "key", Form::Text),
                            field(2, "operator", Form::Text),
                            field(3, "values", TEXTS),
                        ])),
                    ),
                ]),
            ),
            field(3, "maxUnavailable", Form::IntOrText),
            field(4, "unhealthyPodEvictionPolicy", Form::Text),
        ]),
    ),
];

/// The fields of a kind that is known in this form.
pub(super) fn kind_fields(kind: &str) -> Option<&'static [Field]> {
    Some(match kind {
        "Namespace" => NAMESPACE,
        "ConfigMap" => CONFIG_MAP,
        "Secret" => SECRET,
        "CertificateSigningRequest" => REQUEST,
        "DeleteOptions" => DELETE_OPTIONS,
        "Eviction" => EVICTION,
        "PodDisruptionBudget" => BUDGET,
        "SelfSubjectAccessReview" | "SubjectAccessReview" | "LocalSubjectAccessReview" => ACCESS_REVIEW,
        "SelfSubjectReview" | "ServiceAccount" => &[META],
        _ => return None,
    })
}
