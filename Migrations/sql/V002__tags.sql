-- Names under which responses are invalidated together. One row for each name that an entry carries, and none for others.
CREATE TABLE tag (
    id INTEGER PRIMARY KEY,
    name_hash INTEGER NOT NULL,
    name BLOB NOT NULL
);

CREATE INDEX tag_by_name ON tag (name_hash);

-- Who carries what. Nothing but the pair: the key is the row.
CREATE TABLE entry_tag (
    entry_id INTEGER NOT NULL,
    tag_id INTEGER NOT NULL,
    PRIMARY KEY (entry_id, tag_id)
) WITHOUT ROWID;

CREATE INDEX entry_tag_by_tag ON entry_tag (tag_id, entry_id);

-- Invalidations of tags that the sweep has not finished: entries of the tag with a smaller sequence number count as
-- invalidated (marked), or as not there (removed). Empty but for moments.
-- The table 'invalidation' now also has scope 3, a tag, and scope 4, an object that was removed.
CREATE TABLE tag_invalidation (
    tag_id INTEGER PRIMARY KEY,
    marked INTEGER NOT NULL,
    removed INTEGER NOT NULL
);
