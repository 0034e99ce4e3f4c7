-- Times are microseconds since 1970. Rows of revisions, bodies and versions are never changed, with one exception:
-- a version that still holds is closed once, by valid_to and fork.

CREATE TABLE revisions (
    id INTEGER PRIMARY KEY,
    created_at INTEGER NOT NULL,
    -- The buckets with documents in this revision, a sorted JSON list: listing revisions looks at no document.
    buckets TEXT NOT NULL
) STRICT;

CREATE TABLE bodies (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    -- The key that opens the content; NULL when it is not sealed.
    sealed_with TEXT,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE versions (
    id INTEGER PRIMARY KEY,
    schema TEXT NOT NULL,
    layer TEXT,
    name TEXT NOT NULL,
    bucket TEXT NOT NULL,
    -- The revision that is shown as the document's.
    revision INTEGER NOT NULL REFERENCES revisions (id),
    -- The row belongs to revisions from valid_from until just before valid_to, or still.
    valid_from INTEGER NOT NULL REFERENCES revisions (id),
    valid_to INTEGER REFERENCES revisions (id),
    -- The node of the interval tree under which a closed row is filed.
    fork INTEGER,
    data INTEGER NOT NULL REFERENCES bodies (id),
    metadata INTEGER NOT NULL REFERENCES bodies (id),
    CHECK (valid_to > valid_from),
    CHECK ((valid_to IS NULL) = (fork IS NULL))
) STRICT;

-- A layer that is missing is told from an empty one.
CREATE UNIQUE INDEX versions_identity ON versions (schema, name, coalesce('=' || layer, '')) WHERE valid_to IS NULL;
CREATE INDEX versions_live ON versions (valid_from) WHERE valid_to IS NULL;
CREATE INDEX versions_fork_end ON versions (fork, valid_to) WHERE fork IS NOT NULL;
CREATE INDEX versions_fork_begin ON versions (fork, valid_from) WHERE fork IS NOT NULL;

CREATE TABLE tags (
    revision INTEGER NOT NULL REFERENCES revisions (id),
    tag TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (revision, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_tag ON tags (tag, revision);

CREATE TABLE validations (
    revision INTEGER NOT NULL REFERENCES revisions (id),
    name TEXT NOT NULL,
    entry INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    report TEXT NOT NULL,
    PRIMARY KEY (revision, name, entry)
) STRICT;

CREATE TABLE locks (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
