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

use Role::{Admin, Operator, Viewer};

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident: $role:ident $verb:literal $resource:literal $name:literal;)*) => {
        $($(#[$doc])* pub(crate) static $rule: Rule = Rule { name: $name, role: $role, verb: $verb, resource: $resource };)*
    };
}

rules! {
    /// What a route has whose list forgot to say: nobody but an administrator.
    UNSAID: Admin "*" "*" "berth:unsaid";

    CREATE_DOCUMENTS: Operator "update" "documents" "deckhand:create_cleartext_documents";
    LIST_DOCUMENTS: Viewer "list" "documents" "deckhand:list_cleartext_documents";
    REVEAL_DOCUMENTS: Admin "reveal" "documents" "deckhand:list_encrypted_documents";
    LIST_REVISIONS: Viewer "list" "revisions" "deckhand:list_revisions";
    SHOW_REVISION: Viewer "get" "revisions" "deckhand:show_revision";
    DELETE_REVISIONS: Admin "delete" "revisions" "deckhand:delete_revisions";
    SHOW_DIFF: Viewer "get" "revisions" "deckhand:show_revision_diff";
    SHOW_DEEP_DIFF: Viewer "get" "revisions" "deckhand:show_revision_deepdiff";
    CREATE_TAG: Operator "create" "tags" "deckhand:create_tag";
    SHOW_TAG: Viewer "get" "tags" "deckhand:show_tag";
    LIST_TAGS: Viewer "list" "tags" "deckhand:list_tags";
    DELETE_TAG: Admin "delete" "tags" "deckhand:delete_tag";
    DELETE_TAGS: Admin "delete" "tags" "deckhand:delete_tags";
    CREATE_VALIDATION: Operator "create" "validations" "deckhand:create_validation";
    LIST_VALIDATIONS: Viewer "list" "validations" "deckhand:list_validations";
    SHOW_VALIDATION: Viewer "get" "validations" "deckhand:show_validation";

    CONFIGDOCS_STATUS: Viewer "list" "configdocs" "workflow_orchestrator:get_configdocs_status";
    CREATE_CONFIGDOCS: Operator "create" "configdocs" "workflow_orchestrator:create_configdocs";
    GET_CONFIGDOCS: Viewer "get" "configdocs" "workflow_orchestrator:get_configdocs";
    REVEAL_CONFIGDOCS: Admin "reveal" "configdocs" "workflow_orchestrator:get_configdocs_cleartext";
    COMMIT_CONFIGDOCS: Operator "commit" "configdocs" "workflow_orchestrator:commit_configdocs";
    GET_RENDERED: Viewer "get" "configdocs" "workflow_orchestrator:get_renderedconfigdocs";
    REVEAL_RENDERED: Admin "reveal" "configdocs" "workflow_orchestrator:get_renderedconfigdocs_cleartext";

    LIST_ACTIONS: Viewer "list" "actions" "workflow_orchestrator:list_actions";
    CREATE_ACTION: Operator "create" "actions" "workflow_orchestrator:create_action";
    GET_ACTION: Viewer "get" "actions" "workflow_orchestrator:get_action";
    GET_STEP: Viewer "get" "actions" "workflow_orchestrator:get_action_step";
    GET_STEP_LOGS: Viewer "get" "actions" "workflow_orchestrator:get_action_step_logs";
    GET_ACTION_VALIDATION: Viewer "get" "actions" "workflow_orchestrator:get_action_validation";
    CONTROL_ACTION: Operator "control" "actions" "workflow_orchestrator:invoke_action_control";
    WATCH_ACTIONS: Viewer "watch" "actions" "berth:watch_actions";
    LIST_WORKFLOWS: Viewer "list" "actions" "workflow_orchestrator:list_workflows";
    GET_WORKFLOW: Viewer "get" "actions" "workflow_orchestrator:get_workflow";
    GET_NOTE: Viewer "get" "actions" "workflow_orchestrator:get_notedetails";
    GET_SITE_STATUSES: Viewer "list" "nodes" "workflow_orchestrator:get_site_statuses";
    /// An action needs the right to make actions, and this one for what it does.
    RELABEL_ACTION: Operator "relabel" "nodes" "workflow_orchestrator:action_relabel_nodes";

    READ_TASK: Viewer "get" "tasks" "physical_provisioner:read_task";
    CREATE_TASK: Operator "create" "tasks" "physical_provisioner:create_task";
    DELETE_TASKS: Admin "delete" "tasks" "physical_provisioner:delete_tasks";
    /// The same for tasks.
    RELABEL_TASK: Operator "relabel" "nodes" "physical_provisioner:relabel_nodes";
    VALIDATE_DESIGN: Viewer "list" "documents" "physical_provisioner:validate_site_design";
    READ_DATA: Viewer "list" "nodes" "physical_provisioner:read_data";

    UPDATE_NODE_LABELS: Operator "update" "nodelabels" "kubernetes_provisioner:update_node_labels";
    READ_NODE_LABELS: Viewer "get" "nodelabels" "berth:read_node_labels";
}
