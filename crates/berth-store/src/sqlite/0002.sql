-- Times are microseconds since 1970; JSON is kept as text. An action's counts are those of its nodes, kept beside it so that
-- listing actions looks at no node.

CREATE TABLE actions (
    -- A ULID: the order of identifiers is the order of time.
    id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    parameters TEXT NOT NULL,
    user_name TEXT NOT NULL,
    context_marker TEXT NOT NULL,
    revision INTEGER,
    allow_intermediate INTEGER,
    options TEXT NOT NULL,
    exclusive TEXT,
    state TEXT NOT NULL,
    -- Whether this attempt was looked at before its first node.
    begun INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    queued INTEGER NOT NULL,
    running INTEGER NOT NULL,
    succeeded INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    stopped INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    stopped_by TEXT
) STRICT;
CREATE INDEX actions_origin ON actions (origin, id);
CREATE INDEX actions_open ON actions (id) WHERE finished_at IS NULL;
CREATE INDEX actions_ended ON actions (finished_at) WHERE finished_at IS NOT NULL;
-- Whatever a program does wrong, two actions of a group are never open at a time.
CREATE UNIQUE INDEX actions_exclusive ON actions (exclusive) WHERE finished_at IS NULL AND exclusive IS NOT NULL;

CREATE TABLE subtasks (
    action TEXT NOT NULL REFERENCES actions (id),
    ordinal INTEGER NOT NULL,
    node TEXT NOT NULL,
    work TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Counts the claims; a result must carry the newest.
    fence INTEGER NOT NULL,
    owner TEXT,
    lease_until INTEGER,
    started_at INTEGER,
    finished_at INTEGER,
    outcome TEXT,
    PRIMARY KEY (action, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX subtasks_open ON subtasks (action, ordinal) WHERE state IN ('queued', 'running');
CREATE INDEX subtasks_owner ON subtasks (owner) WHERE state = 'running';

CREATE TABLE action_audit (
    id INTEGER PRIMARY KEY,
    action TEXT NOT NULL REFERENCES actions (id),
    command TEXT NOT NULL,
    user_name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX action_audit_action ON action_audit (action, id);

CREATE TABLE action_validations (
    id INTEGER PRIMARY KEY,
    action TEXT NOT NULL REFERENCES actions (id),
    name TEXT NOT NULL,
    details TEXT NOT NULL
) STRICT;
CREATE INDEX action_validations_action ON action_validations (action, id);

CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    about TEXT NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    note TEXT NOT NULL,
    verbosity INTEGER NOT NULL,
    link TEXT,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notes_about ON notes (about, id);
