//! The difference, as it is printed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use berth_pools::{Action, ChangeKind};
use serde::Serialize;

use crate::output::{Report, Table, counted, printable};

/// Everything that differs. The fields are a contract.
#[derive(Serialize)]
pub(super) struct DiffReport {
    pub(super) pools: Vec<PoolReport>,
    pub(super) nodes: Vec<NodeReport>,
}

/// One pool. The fields are a contract.
#[derive(Serialize)]
pub(super) struct PoolReport {
    pub(super) pool: String,
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    pub(super) changes: Vec<ChangeReport>,
    pub(super) actions: Vec<Action>,
    #[serde(skip)]
    pub(super) is_new: bool,
    #[serde(skip)]
    pub(super) is_gone: bool,
}

/// One thing that differs. The fields are a contract.
#[derive(Serialize)]
pub(in crate::commands) struct ChangeReport {
    pub(in crate::commands) kind: &'static str,
    pub(in crate::commands) name: String,
    pub(in crate::commands) change: ChangeKind,
    pub(in crate::commands) actions: Vec<Action>,
    /// Lines for people.
    #[serde(skip)]
    pub(in crate::commands) details: String,
}

/// One node. The fields are a contract.
#[derive(Serialize)]
pub(super) struct NodeReport {
    pub(super) node: String,
    pub(super) pool_before: Option<String>,
    pub(super) pool_after: Option<String>,
    pub(super) set: BTreeMap<String, String>,
    pub(super) remove: BTreeSet<String>,
    /// What a move between pools needs on the machine.
    pub(super) actions: Vec<Action>,
    /// The labels before.
    #[serde(skip)]
    pub(super) before: BTreeMap<String, String>,
    #[serde(skip)]
    pub(super) is_new: bool,
    #[serde(skip)]
    pub(super) is_gone: bool,
}

impl PoolReport {
    fn differs(&self) -> bool {
        self.old != self.new || !self.changes.is_empty() || self.is_new || self.is_gone
    }
}

impl DiffReport {
    /// Whether both sides say the same.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && !self.pools.iter().any(PoolReport::differs)
    }
}

impl Report for DiffReport {
    fn text(&self, wide: bool) -> String {
        let mut text = String::new();
        for pool in self.pools.iter().filter(|pool| wide || pool.differs()) {
            let _ = writeln!(text, "{}", pool_text(pool));
        }
        for node in &self.nodes {
            let _ = writeln!(text, "{}", node_text(node));
        }
        let pools = self.pools.iter().filter(|pool| pool.differs()).count();
        if self.is_empty() {
            text.push_str("nothing differs\n");
        } else {
            let _ = writeln!(
                text,
                "{} and {} differ",
                counted(pools, "pool"),
                counted(self.nodes.len(), "node")
            );
        }
        text
    }

    fn names(&self) -> Vec<String> {
        let pools = self.pools.iter().filter(|pool| pool.differs());
        let pools = pools.map(|pool| format!("machineconfigpool/{}", pool.pool));
        let nodes = self.nodes.iter().map(|node| format!("node/{}", node.node));
        pools.chain(nodes).collect()
    }
}

fn pool_text(pool: &PoolReport) -> String {
    let name = |rendered: &Option<String>| rendered.clone().unwrap_or_else(|| "<none>".to_owned());
    let (old, new) = (name(&pool.old), name(&pool.new));
    let title = printable(&pool.pool);
    if pool.is_new {
        return format!("pool {title} is new: {new}\n");
    }
    if pool.is_gone {
        return format!("pool {title} is gone: {old}\n");
    }
    let mut text = if old == new {
        format!("pool {title}: {new}\n")
    } else {
        format!("pool {title}: {old} -> {new}\n")
    };
    if pool.changes.is_empty() {
        return text;
    }
    for line in table(&pool.changes).to_string().lines() {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  all together: {}", list(&pool.actions));
    for change in pool.changes.iter().filter(|change| !change.details.is_empty()) {
        let _ = write!(
            text,
            "\n{} {}:\n{}",
            change.kind,
            printable(&change.name),
            change.details
        );
    }
    text
}

fn node_text(node: &NodeReport) -> String {
    let pool = |pool: &Option<String>| pool.clone().unwrap_or_else(|| "<none>".to_owned());
    let (before, after) = (pool(&node.pool_before), pool(&node.pool_after));
    let name = printable(&node.node);
    let mut text = match (node.is_new, node.is_gone) {
        (true, _) => format!("node {name} is new: pool {after}\n"),
        (_, true) => format!("node {name} is gone: pool {before}\n"),
        _ if before == after => format!("node {name}: pool {after}\n"),
        _ if node.actions.is_empty() => format!("node {name}: pool {before} -> {after}\n"),
        _ => format!(
            "node {name}: pool {before} -> {after}, which needs: {}\n",
            list(&node.actions)
        ),
    };
    for (key, value) in &node.set {
        let line = match node.before.get(key) {
            Some(old) => format!("~ {key}={value} (was `{old}`)"),
            None => format!("+ {key}={value}"),
        };
        let _ = writeln!(text, "  {}", printable(&line));
    }
    for key in &node.remove {
        let _ = writeln!(text, "  - {}", printable(key));
    }
    text
}

/// Changes with what each needs.
pub(in crate::commands) fn table(changes: &[ChangeReport]) -> Table {
    let mut table = Table::new(["CHANGE", "KIND", "NAME", "ACTIONS"]);
    for change in changes {
        table.row([word(change.change), change.kind, &change.name, &list(&change.actions)]);
    }
    table
}

fn word(change: ChangeKind) -> &'static str {
    match change {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Changed => "changed",
    }
}

pub(in crate::commands) fn list(actions: &[Action]) -> String {
    let actions: Vec<String> = actions.iter().map(ToString::to_string).collect();
    actions.join(", ")
}
