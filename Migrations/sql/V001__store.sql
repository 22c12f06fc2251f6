-- The one row that says what this store is and where its counters stand.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    key_secret BLOB NOT NULL,
    credential_secret BLOB NOT NULL,
    next_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    log_floor INTEGER NOT NULL,
    response_floor INTEGER NOT NULL,
    object_floor INTEGER NOT NULL
);

-- What is stored, without its bodies: raw responses (kind 0) and Codable objects (kind 1).
CREATE TABLE entry (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    key_hash INTEGER NOT NULL,
    key BLOB NOT NULL,
    variant BLOB NOT NULL,
    target_hash INTEGER,
    sequence INTEGER NOT NULL,
    is_invalidated INTEGER NOT NULL,
    is_usable_stale INTEGER NOT NULL,
    is_pinned INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    recency INTEGER NOT NULL,
    size INTEGER NOT NULL,
    body_id INTEGER NOT NULL,
    body_length INTEGER NOT NULL,
    head BLOB NOT NULL
);

CREATE INDEX entry_by_key ON entry (key_hash);
CREATE INDEX entry_by_target ON entry (target_hash) WHERE target_hash IS NOT NULL;
CREATE INDEX entry_by_recency ON entry (recency) WHERE is_pinned = 0;

-- Covers both removing what expired and counting, so that neither reads heads.
CREATE INDEX entry_by_expiry ON entry (
    is_usable_stale, expires_at, kind, is_invalidated, is_pinned, sequence, size
);

-- Bodies: id = body id << 16 | index; 64 KiB each, the last one of a body shorter.
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    checksum INTEGER NOT NULL,
    data BLOB NOT NULL
);

-- Bodies that no entry names: unfinished, replaced, removed. Swept in batches.
CREATE TABLE garbage (
    body_id INTEGER PRIMARY KEY
);

-- The last invalidations: what a fill that began before one is checked against (scope 0 all, 1 target, 2 key).
CREATE TABLE invalidation (
    sequence INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL,
    hash INTEGER NOT NULL,
    at INTEGER NOT NULL
);
