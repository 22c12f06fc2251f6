-- Where this store stands in the log of invalidations that it shares with other nodes. No row before it first joined one.
CREATE TABLE shared_log (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    node BLOB NOT NULL,
    epoch INTEGER NOT NULL,
    number INTEGER NOT NULL
);

-- The last number that was read of each epoch of that log.
CREATE TABLE shared_epoch (
    epoch INTEGER PRIMARY KEY,
    last INTEGER NOT NULL
);

-- The invalidations that other nodes have to hear of, and those that came from them. Without a position they wait to be published.
-- 'name' is that of the invalidation at all nodes; 'settled_at' is when the log first kept it for good.
CREATE TABLE shared_invalidation (
    id INTEGER PRIMARY KEY,
    name BLOB NOT NULL,
    kind INTEGER NOT NULL,
    selector BLOB NOT NULL,
    effect INTEGER NOT NULL,
    issued_at INTEGER NOT NULL,
    epoch INTEGER,
    number INTEGER,
    settled_at INTEGER
);

CREATE UNIQUE INDEX shared_invalidation_by_name ON shared_invalidation (name);
CREATE INDEX shared_invalidation_by_position ON shared_invalidation (epoch, number);
CREATE INDEX shared_invalidation_by_settling ON shared_invalidation (settled_at);
