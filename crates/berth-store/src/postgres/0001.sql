-- Names compare by their bytes, whatever the database's language. Times are microseconds since 1970. Rows of revisions,
-- bodies and versions are never changed, with one exception: a version that still holds is closed once, by valid_to and
-- fork.

CREATE TABLE revisions (
    id BIGINT PRIMARY KEY,
    created_at BIGINT NOT NULL,
    -- The buckets with documents in this revision, a sorted JSON list: listing revisions looks at no document.
    buckets TEXT NOT NULL
);

CREATE TABLE bodies (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest BYTEA NOT NULL UNIQUE,
    -- The key that opens the content; NULL when it is not sealed.
    sealed_with TEXT,
    content BYTEA NOT NULL
);

CREATE TABLE versions (
    id BIGINT PRIMARY KEY,
    schema TEXT COLLATE "C" NOT NULL,
    layer TEXT COLLATE "C",
    name TEXT COLLATE "C" NOT NULL,
    bucket TEXT COLLATE "C" NOT NULL,
    -- The revision that is shown as the document's.
    revision BIGINT NOT NULL REFERENCES revisions (id),
    -- The row belongs to revisions from valid_from until just before valid_to, or still.
    valid_from BIGINT NOT NULL REFERENCES revisions (id),
    valid_to BIGINT REFERENCES revisions (id),
    -- The node of the interval tree under which a closed row is filed.
    fork BIGINT,
    data BIGINT NOT NULL REFERENCES bodies (id),
    metadata BIGINT NOT NULL REFERENCES bodies (id),
    CHECK (valid_to > valid_from),
    CHECK ((valid_to IS NULL) = (fork IS NULL))
);

-- A layer that is missing is told from an empty one.
CREATE UNIQUE INDEX versions_identity ON versions (schema, name, coalesce('=' || layer, '')) WHERE valid_to IS NULL;
CREATE INDEX versions_live ON versions (valid_from) WHERE valid_to IS NULL;
CREATE INDEX versions_fork_end ON versions (fork, valid_to) WHERE fork IS NOT NULL;
CREATE INDEX versions_fork_begin ON versions (fork, valid_from) WHERE fork IS NOT NULL;

CREATE TABLE tags (
    revision BIGINT NOT NULL REFERENCES revisions (id),
    tag TEXT COLLATE "C" NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (revision, tag)
);
CREATE INDEX tags_tag ON tags (tag, revision);

CREATE TABLE validations (
    revision BIGINT NOT NULL REFERENCES revisions (id),
    name TEXT COLLATE "C" NOT NULL,
    entry BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    report TEXT NOT NULL,
    PRIMARY KEY (revision, name, entry)
);

CREATE TABLE locks (
    name TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL
);
