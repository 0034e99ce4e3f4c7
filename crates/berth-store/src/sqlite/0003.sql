-- Labels that actions gave a node and that it may still have, as JSON: by key, the values. They outlive the actions, and
-- without them no label goes because a Node says that it is Berth's.
CREATE TABLE node_labels (
    node TEXT PRIMARY KEY,
    labels TEXT NOT NULL
) STRICT, WITHOUT ROWID;
