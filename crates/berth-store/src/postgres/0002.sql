-- Times are microseconds since 1970; JSON is kept as text. An action's counts are those of its nodes, kept beside it so that
-- listing actions looks at no node.

CREATE TABLE actions (
    -- A ULID: the order of identifiers is the order of time.
    id TEXT COLLATE "C" PRIMARY KEY,
    task_id TEXT COLLATE "C" NOT NULL UNIQUE,
    origin TEXT NOT NULL,
    name TEXT NOT NULL,
    parameters TEXT NOT NULL,
    user_name TEXT NOT NULL,
    context_marker TEXT NOT NULL,
    revision BIGINT,
    allow_intermediate BIGINT,
    options TEXT NOT NULL,
    exclusive TEXT COLLATE "C",
    state TEXT NOT NULL,
    -- Whether this attempt was looked at before its first node.
    begun BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    queued BIGINT NOT NULL,
    running BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    stopped BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    started_at BIGINT,
    updated_at BIGINT NOT NULL,
    finished_at BIGINT,
    stopped_by TEXT
);
CREATE INDEX actions_origin ON actions (origin, id);
CREATE INDEX actions_open ON actions (id) WHERE finished_at IS NULL;
CREATE INDEX actions_ended ON actions (finished_at) WHERE finished_at IS NOT NULL;
-- Whatever a program does wrong, two actions of a group are never open at a time.
CREATE UNIQUE INDEX actions_exclusive ON actions (exclusive) WHERE finished_at IS NULL AND exclusive IS NOT NULL;

CREATE TABLE subtasks (
    action TEXT COLLATE "C" NOT NULL REFERENCES actions (id),
    ordinal BIGINT NOT NULL,
    node TEXT NOT NULL,
    work TEXT NOT NULL,
    state TEXT NOT NULL,
    -- Counts the claims; a result must carry the newest.
    fence BIGINT NOT NULL,
    owner TEXT COLLATE "C",
    lease_until BIGINT,
    started_at BIGINT,
    finished_at BIGINT,
    outcome TEXT,
    PRIMARY KEY (action, ordinal)
);
CREATE INDEX subtasks_open ON subtasks (action, ordinal) WHERE state IN ('queued', 'running');
CREATE INDEX subtasks_owner ON subtasks (owner) WHERE state = 'running';

CREATE TABLE action_audit (
    id BIGINT PRIMARY KEY,
    action TEXT COLLATE "C" NOT NULL REFERENCES actions (id),
    command TEXT NOT NULL,
    user_name TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX action_audit_action ON action_audit (action, id);

CREATE TABLE action_validations (
    id BIGINT PRIMARY KEY,
    action TEXT COLLATE "C" NOT NULL REFERENCES actions (id),
    name TEXT NOT NULL,
    details TEXT NOT NULL
);
CREATE INDEX action_validations_action ON action_validations (action, id);

CREATE TABLE notes (
    id BIGINT PRIMARY KEY,
    about TEXT COLLATE "C" NOT NULL,
    subject TEXT NOT NULL,
    kind TEXT NOT NULL,
    note TEXT NOT NULL,
    verbosity BIGINT NOT NULL,
    link TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX notes_about ON notes (about, id);
