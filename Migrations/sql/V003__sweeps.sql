-- Removing everything is one number: entries stored under a smaller sequence number count as not there, and a sweep removes their rows.
ALTER TABLE store ADD COLUMN response_removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE store ADD COLUMN object_removed INTEGER NOT NULL DEFAULT 0;

-- Something of it was read and was not what had been written: it counts as not there, and stays for whoever examines it.
ALTER TABLE entry ADD COLUMN is_damaged INTEGER NOT NULL DEFAULT 0;

-- Octets of the entries that carry a tag: the sum of their sizes.
ALTER TABLE tag ADD COLUMN octets INTEGER NOT NULL DEFAULT 0;
UPDATE tag SET octets = (
    SELECT coalesce(sum(entry.size), 0) FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id WHERE t.tag_id = tag.id
);

-- Invalidations of all targets that begin with some octets, as long as the sweep has not finished: responses with a smaller
-- sequence number count as invalidated, or as not there. The prefix is a canonical encoding. Empty but for moments.
-- The table 'invalidation' now also has scope 5, a prefix.
CREATE TABLE prefix_invalidation (
    sequence INTEGER PRIMARY KEY,
    prefix BLOB NOT NULL,
    is_removal INTEGER NOT NULL
);
