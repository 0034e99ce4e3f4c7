//! What each route asks for: the policy rules of the three services, and what they are for a token's role and in a cluster.

use berth_tokens::Role;

/// A right that routes ask for.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its name in the services' policies.
    pub(crate) name: &'static str,
    /// The weakest role that has it.
    pub(crate) role: Role,
    /// The verb that a cluster is asked about.
    pub(crate) verb: &'static str,
    /// The resource of `berth.dev` that a cluster is asked about.
    pub(crate) resource: &'static str,
}

const fn rule(name: &'static str, role: Role, verb: &'static str, resource: &'static str) -> Rule {
    Rule {
        name,
        role,
        verb,
        resource,
    }
}

use Role::{Admin, Operator, Viewer};

/// What a route has whose list forgot to say: nobody but an administrator.
pub(crate) static UNSAID: Rule = rule("berth:unsaid", Admin, "*", "*");

pub(crate) static CREATE_DOCUMENTS: Rule = rule("deckhand:create_cleartext_documents", Operator, "update", "documents");
pub(crate) static LIST_DOCUMENTS: Rule = rule("deckhand:list_cleartext_documents", Viewer, "list", "documents");
pub(crate) static REVEAL_DOCUMENTS: Rule = rule("deckhand:list_encrypted_documents", Admin, "reveal", "documents");
pub(crate) static LIST_REVISIONS: Rule = rule("deckhand:list_revisions", Viewer, "list", "revisions");
pub(crate) static SHOW_REVISION: Rule = rule("deckhand:show_revision", Viewer, "get", "revisions");
pub(crate) static DELETE_REVISIONS: Rule = rule("deckhand:delete_revisions", Admin, "delete", "revisions");
pub(crate) static SHOW_DIFF: Rule = rule("deckhand:show_revision_diff", Viewer, "get", "revisions");
pub(crate) static SHOW_DEEP_DIFF: Rule = rule("deckhand:show_revision_deepdiff", Viewer, "get", "revisions");
pub(crate) static CREATE_TAG: Rule = rule("deckhand:create_tag", Operator, "create", "tags");
pub(crate) static SHOW_TAG: Rule = rule("deckhand:show_tag", Viewer, "get", "tags");
pub(crate) static LIST_TAGS: Rule = rule("deckhand:list_tags", Viewer, "list", "tags");
pub(crate) static DELETE_TAG: Rule = rule("deckhand:delete_tag", Admin, "delete", "tags");
pub(crate) static DELETE_TAGS: Rule = rule("deckhand:delete_tags", Admin, "delete", "tags");
pub(crate) static CREATE_VALIDATION: Rule = rule("deckhand:create_validation", Operator, "create", "validations");
pub(crate) static LIST_VALIDATIONS: Rule = rule("deckhand:list_validations", Viewer, "list", "validations");
pub(crate) static SHOW_VALIDATION: Rule = rule("deckhand:show_validation", Viewer, "get", "validations");

pub(crate) static CONFIGDOCS_STATUS: Rule = rule(
    "workflow_orchestrator:get_configdocs_status",
    Viewer,
    "list",
    "configdocs",
);
pub(crate) static CREATE_CONFIGDOCS: Rule = rule(
    "workflow_orchestrator:create_configdocs",
    Operator,
    "create",
    "configdocs",
);
pub(crate) static GET_CONFIGDOCS: Rule = rule("workflow_orchestrator:get_configdocs", Viewer, "get", "configdocs");
pub(crate) static REVEAL_CONFIGDOCS: Rule = rule(
    "workflow_orchestrator:get_configdocs_cleartext",
    Admin,
    "reveal",
    "configdocs",
);
pub(crate) static COMMIT_CONFIGDOCS: Rule = rule(
    "workflow_orchestrator:commit_configdocs",
    Operator,
    "commit",
    "configdocs",
);
pub(crate) static GET_RENDERED: Rule = rule(
    "workflow_orchestrator:get_renderedconfigdocs",
    Viewer,
    "get",
    "configdocs",
);
pub(crate) static REVEAL_RENDERED: Rule = rule(
    "workflow_orchestrator:get_renderedconfigdocs_cleartext",
    Admin,
    "reveal",
    "configdocs",
);

pub(crate) static LIST_ACTIONS: Rule = rule("workflow_orchestrator:list_actions", Viewer, "list", "actions");
pub(crate) static CREATE_ACTION: Rule = rule("workflow_orchestrator:create_action", Operator, "create", "actions");
pub(crate) static GET_ACTION: Rule = rule("workflow_orchestrator:get_action", Viewer, "get", "actions");
pub(crate) static GET_STEP: Rule = rule("workflow_orchestrator:get_action_step", Viewer, "get", "actions");
pub(crate) static GET_STEP_LOGS: Rule = rule("workflow_orchestrator:get_action_step_logs", Viewer, "get", "actions");
pub(crate) static GET_ACTION_VALIDATION: Rule =
    rule("workflow_orchestrator:get_action_validation", Viewer, "get", "actions");
pub(crate) static CONTROL_ACTION: Rule = rule(
    "workflow_orchestrator:invoke_action_control",
    Operator,
    "control",
    "actions",
);
pub(crate) static WATCH_ACTIONS: Rule = rule("berth:watch_actions", Viewer, "watch", "actions");
pub(crate) static LIST_WORKFLOWS: Rule = rule("workflow_orchestrator:list_workflows", Viewer, "list", "actions");
pub(crate) static GET_WORKFLOW: Rule = rule("workflow_orchestrator:get_workflow", Viewer, "get", "actions");
pub(crate) static GET_NOTE: Rule = rule("workflow_orchestrator:get_notedetails", Viewer, "get", "actions");
pub(crate) static GET_SITE_STATUSES: Rule = rule("workflow_orchestrator:get_site_statuses", Viewer, "list", "nodes");
/// An action needs the right to make actions, and this one for what it does.
pub(crate) static RELABEL_ACTION: Rule = rule(
    "workflow_orchestrator:action_relabel_nodes",
    Operator,
    "relabel",
    "nodes",
);

pub(crate) static READ_TASK: Rule = rule("physical_provisioner:read_task", Viewer, "get", "tasks");
pub(crate) static CREATE_TASK: Rule = rule("physical_provisioner:create_task", Operator, "create", "tasks");
pub(crate) static DELETE_TASKS: Rule = rule("physical_provisioner:delete_tasks", Admin, "delete", "tasks");
/// The same for tasks.
pub(crate) static RELABEL_TASK: Rule = rule("physical_provisioner:relabel_nodes", Operator, "relabel", "nodes");
pub(crate) static VALIDATE_DESIGN: Rule =
    rule("physical_provisioner:validate_site_design", Viewer, "list", "documents");
pub(crate) static READ_DATA: Rule = rule("physical_provisioner:read_data", Viewer, "list", "nodes");

pub(crate) static UPDATE_NODE_LABELS: Rule = rule(
    "kubernetes_provisioner:update_node_labels",
    Operator,
    "update",
    "nodelabels",
);
pub(crate) static READ_NODE_LABELS: Rule = rule("berth:read_node_labels", Viewer, "get", "nodelabels");
