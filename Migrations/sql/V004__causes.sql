-- Why an entry was invalidated: 1 for a success of an unsafe method (RFC 9111, section 4.4), 0 for a purge, or where it is not known.
ALTER TABLE entry ADD COLUMN invalidation_cause INTEGER NOT NULL DEFAULT 0;

-- Invalidations of tags by unsafe methods that the sweep has not finished: entries of the tag with a smaller sequence number get that cause.
-- Each has a row in 'tag_invalidation', too, whose 'marked' is no smaller than its number. Empty but for moments.
CREATE TABLE unsafe_tag_invalidation (
    tag_id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL
);
