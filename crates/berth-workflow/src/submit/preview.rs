//! What an action would do.

use std::collections::BTreeMap;

use berth_api::MovesFrom;
use berth_site::LabelChanges;
use serde::Serialize;

use super::{SubmitError, Workflow};
use crate::{
    apply::{ApplyError, Order},
    engine::{NodeWork, READ_SINGLY, Whole},
    outcome::Outcome,
    request::RelabelRequest,
    site::{SiteSnapshot, Targets},
};
use berth_decide::Strategy;

/// What an action would do, node by node. Nothing is kept and nothing is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The revision from which the labels come.
    pub revision: u64,
    /// How labels would follow.
    pub strategy: Strategy,
    /// The nodes, in the order in which they would be worked on.
    pub nodes: Vec<PreviewNode>,
    /// Why the action would stop and ask before its first node.
    pub held: Option<String>,
    /// Which egress addresses and routers would move, one sentence each. Connections through them break.
    pub moves: Vec<String>,
    /// How that is known.
    pub moves_from: MovesFrom,
}

/// What would come of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreviewNode {
    /// Its name.
    pub node: String,
    /// What would come of it.
    pub outcome: Outcome,
}

impl Workflow {
    /// Checks an action as [`create_action`](Self::create_action) does, and says what it would do.
    ///
    /// # Errors
    /// See [`SubmitError`].
    pub async fn preview_action(&self, request: &RelabelRequest) -> Result<Preview, SubmitError> {
        let site = self.site_for_actions(request).await?;
        let targets = self.targets(&site, request.target_nodes.clone()).await?;
        self.preview(&site, &targets, request.strategy, request.allow_mass_removal)
            .await
    }

    async fn preview(
        &self,
        site: &SiteSnapshot,
        targets: &Targets,
        strategy: Option<Strategy>,
        allow_mass_removal: bool,
    ) -> Result<Preview, SubmitError> {
        let strategy = strategy.unwrap_or(self.options.strategy);
        // Controllers that began a moment ago count.
        let client = self.nodes().afresh();
        let mut live = client.list().await?;
        let work: Vec<NodeWork<'_>> = targets
            .nodes
            .iter()
            .map(|(node, declaration)| {
                let labels = declaration.labels.iter();
                let requested = labels.map(|(key, value)| (key.clone(), Some(value.clone())));
                NodeWork {
                    node,
                    requested: requested.collect(),
                    declared: Some(declaration.berth.clone()),
                }
            })
            .collect();
        let change = Whole { work: &work, strategy };
        let held = if !allow_mass_removal && change.removes_many(&client, &live) {
            change.reason_to_ask(&client, &live).await?
        } else {
            None
        };
        let many = work.len() > READ_SINGLY && strategy != Strategy::Promenade;
        let berths = if many { Some(client.berths().await?) } else { None };
        let mut nodes = Vec::with_capacity(targets.nodes.len());
        let mut changes = BTreeMap::new();
        for NodeWork {
            node,
            requested,
            declared,
        } in &work
        {
            let outcome = match live.get_mut(*node) {
                None => Outcome::failed(
                    ApplyError::NotFound {
                        node: (*node).to_owned(),
                    }
                    .to_string(),
                ),
                Some(state) => {
                    let order = Order {
                        declared: declared.as_ref(),
                        ..client.order(node, requested, strategy)
                    };
                    let diff = match &berths {
                        Some(berths) => client.diff_beside(state, order, berths.get(*node)).await?,
                        None => client.diff(state, order).await?,
                    };
                    let change = LabelChanges {
                        set: diff
                            .set
                            .iter()
                            .chain(&diff.change)
                            .map(|(key, value)| (key.clone(), value.clone()))
                            .collect(),
                        remove: diff.remove.clone(),
                        reboots: false,
                    };
                    changes.insert((*node).to_owned(), change);
                    Outcome::of(&diff, state)
                }
            };
            nodes.push(PreviewNode {
                node: (*node).to_owned(),
                outcome,
            });
        }
        let shown = client.traffic().await;
        let (moves, moves_from) = site.moves(&live, changes, shown);
        Ok(Preview {
            revision: site.revision,
            strategy,
            nodes,
            moves,
            moves_from,
            held,
        })
    }
}
