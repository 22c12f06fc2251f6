import StoreFiles

/// Examines tags: their names, the entries that have them, and the sums of these entries' sizes.
extension Verifier {
    private static let pageCount: Int64 = 1024

    /// Examines the pairs of entries and tags: both must exist, and both indexes must contain the
    /// pair.
    func examineTagPairs(_ connection: Connection) throws {
        var last: (entry: Int64, tag: Int64) = (.min, .min)
        var count = Self.pageCount
        while count == Self.pageCount {
            count = 0
            try snapshot(connection) {
                let statement = try connection.prepare(
                    """
                    SELECT entry_id, tag_id, EXISTS (SELECT 1 FROM entry WHERE id = t.entry_id), EXISTS (SELECT 1 FROM tag WHERE id = t.tag_id),
                        EXISTS (SELECT 1 FROM entry_tag i INDEXED BY entry_tag_by_tag WHERE i.tag_id = t.tag_id AND i.entry_id = t.entry_id)
                    FROM entry_tag t WHERE (entry_id, tag_id) > (?1, ?2) ORDER BY entry_id, tag_id LIMIT \(Self.pageCount)
                    """
                )
                defer { statement.reset() }
                statement.bind(1, last.entry)
                statement.bind(2, last.tag)
                while try statement.step() {
                    count += 1
                    last = (statement.integer(0), statement.integer(1))
                    if !statement.flag(2) {
                        find(.tag, "tag \(last.tag) belongs to entry \(last.entry), which does not exist")
                    }
                    if !statement.flag(3) {
                        find(.tag, "entry \(last.entry) has tag \(last.tag), which does not exist")
                    }
                    if !statement.flag(4) {
                        find(
                            .index,
                            "tag \(last.tag) of entry \(last.entry) is missing from the index 'entry_tag_by_tag'"
                        )
                    }
                }
            }
        }
    }

    /// Examines every tag: its name must be found exactly once, an entry must have it, and its
    /// number of bytes must be the sum of its entries' sizes.
    func examineTags(_ connection: Connection, _ state: DatabaseState) throws {
        var last = Int64.min
        while let id = try connection.integer("SELECT id FROM tag WHERE id > ?1 ORDER BY id LIMIT 1", last) {
            last = id
            try snapshot(connection) { try examineTag(id, connection, state) }
        }
    }

    private func examineTag(_ id: Int64, _ connection: Connection, _ state: DatabaseState) throws {
        let hasBytes = state.has(DatabaseState.sweepSchemaVersion)
        let statement = try connection.prepare(
            "SELECT name_hash, name, \(hasBytes ? "octets" : "0") FROM tag WHERE id = ?1"
        )
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step() else { return }
        let (hash, name, bytes) = (statement.integer(0), statement.bytes(1), statement.integer(2))
        if state.hash(name, .tag) != hash { find(.tag, "tag \(id) cannot be found under its name") }
        let same = try connection.prepare(
            "SELECT count(*) FROM tag INDEXED BY tag_by_name WHERE name_hash = ?1 AND name = ?2"
        )
        defer { same.reset() }
        same.bind(1, hash)
        same.bind(2, name)
        if try same.step(), same.integer(0) != 1 {
            find(.tag, "tag \(id) is found \(same.integer(0)) times by its name")
        }
        let sums = try connection.prepare(
            """
            SELECT count(*), coalesce(sum(size), 0)
            FROM entry_tag t CROSS JOIN entry ON entry.id = t.entry_id WHERE t.tag_id = ?1
            """
        )
        defer { sums.reset() }
        sums.bind(1, id)
        guard try sums.step() else { return }
        if sums.integer(0) == 0 { find(.tag, "no entry has tag \(id)") }
        if hasBytes, sums.integer(1) != bytes {
            find(.size, "tag \(id) is recorded with \(bytes) bytes but has \(sums.integer(1))")
        }
    }
}
