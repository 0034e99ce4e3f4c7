//! How repeated assignments of a key combine.

/// Keys of `[Service]` that hold command lines.
pub(super) const EXEC_KEYS: &[&str] = &[
    "ExecCondition",
    "ExecStartPre",
    "ExecStart",
    "ExecStartPost",
    "ExecReload",
    "ExecReloadPost",
    "ExecStop",
    "ExecStopPost",
];

/// Further keys that add to a list, where an empty value empties the list. Dependencies (`After=` and its kin) are
/// lists too, but an empty value does not reset them.
const LIST_KEYS: &[&str] = &[
    "BindPaths",
    "BindReadOnlyPaths",
    "Conflicts",
    "DeviceAllow",
    "Documentation",
    "Environment",
    "EnvironmentFile",
    "InaccessiblePaths",
    "LoadCredential",
    "PassEnvironment",
    "ReadOnlyPaths",
    "ReadWritePaths",
    "RestartForceExitStatus",
    "RestartPreventExitStatus",
    "SetCredential",
    "SuccessExitStatus",
    "SupplementaryGroups",
    "SystemCallFilter",
    "UnsetEnvironment",
];

const DEPENDENCY_KEYS: &[&str] = &[
    "After",
    "Also",
    "Before",
    "BindsTo",
    "OnFailure",
    "OnSuccess",
    "PartOf",
    "RequiredBy",
    "Requires",
    "RequiresMountsFor",
    "Requisite",
    "UpheldBy",
    "Upholds",
    "WantedBy",
    "Wants",
];

/// How repeated assignments of a key combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Each assignment adds; an empty one empties the list.
    List,
    /// Each assignment adds; an empty one does nothing.
    Dependency,
    /// The last assignment counts.
    Single,
}

/// How systemd combines repeated assignments of a key.
pub fn key_kind(key: &str) -> KeyKind {
    let condition = key.starts_with("Condition") || key.starts_with("Assert");
    if EXEC_KEYS.contains(&key) || LIST_KEYS.contains(&key) || condition {
        KeyKind::List
    } else if DEPENDENCY_KEYS.contains(&key) {
        KeyKind::Dependency
    } else {
        KeyKind::Single
    }
}
