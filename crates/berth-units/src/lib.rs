//! systemd unit files and the kubelet's command line.
//!
//! ```text
//! files ─► UnitTree ─► EffectiveUnit ─► KubeletCommand ─► drop_in()             one drop-in with one more flag
//!              │             │               └──────────► check_kubelet_unit()  facts for a linter
//!          UnitFile      Environment ───────────────────► merge_kubelet_env(), merge_default_kubelet()
//! ```
//!
//! Nothing here reads a disk, a clock or the process's environment: callers hand in bytes. Readers follow what systemd
//! and the kubelet do, not what other INI or flag libraries do. They never fail; they return what they understood and
//! diagnostics with line and column. Functions that make something new refuse, with a reason, what they cannot prove.

mod check;
mod diagnostic;
mod dropin;
mod effective;
mod environment;
mod exec;
mod hooks;
mod kubelet;
mod labels_file;
#[cfg(test)]
mod oracle;
mod unit_file;
mod words;

pub use check::{KubeletFacts, KubeletRefusal, LabelFact, Stopper, check_kubelet_unit};
pub use diagnostic::{Place, Severity, UnitDiagnostic};
pub use dropin::{
    DROP_IN_NAME, DropIn, DropInError, DropInRequest, LATE_DROP_IN_NAME, LeftOut, SEED_VARIABLE, drop_in,
    read_seed_labels, see_through, seed_labels,
};
pub use effective::{
    Content, EffectiveUnit, EnvFileContent, FileDiagnostic, KeyKind, LoadState, SEARCH_PATH, Setting, Source,
    UnitRefusal, UnitTree, drop_in_directories, key_kind,
};
pub use environment::{Argument, EnvEntry, EnvFile, Environment, Lookup, Variable};
pub use exec::{ExecCommand, ExecLine, ExecProblem};
pub use hooks::{
    DEFAULT_KUBELET_PATH, EXTRA_ARGS_VARIABLE, HookError, KUBELET_ENV_PATH, KUBELET_ENV_STATE_PATH,
    KUBELET_ENV_VARIABLE, LabelChange, MergedArgv, MergedFile, merge_argv, merge_default_kubelet, merge_kubelet_env,
};
pub use kubelet::{Flag, FlagLabel, KubeletCommand, NotKubelet, Opaque};
pub use labels_file::{LABELS_PATH, LabelsFile};
pub use unit_file::{Assignment, Item, ItemKind, UnitFile};
pub use words::quote_argument;
