/// The entries of a store, in the order in which they were stored, read page by page.
///
/// Each page is one short read, and nothing is locked between pages. Entries that are added or
/// removed in the meantime may or may not be seen. The sequence reads heads, never bodies.
package struct StoreEntries: AsyncSequence, Sendable {
    /// The type of the elements.
    package typealias Element = StoreEntry

    private static let pageLength: Int64 = 256

    let core: StoreCore
    let kind: StoreEntry.Kind?

    /// Reads the entries page by page.
    package struct AsyncIterator: AsyncIteratorProtocol {
        private let entries: StoreEntries
        private var page: ArraySlice<StoreEntry> = []
        private var last: Int64 = .min
        private var isAtEnd = false

        fileprivate init(_ entries: StoreEntries) {
            self.entries = entries
        }

        /// Returns the next entry.
        ///
        /// - Throws: ``StoreError``: `closed`, `damaged`, `io`.
        package mutating func next() async throws -> StoreEntry? {
            while page.isEmpty, !isAtEnd {
                let next = try await entries.page(after: last)
                page = next.entries[...]
                isAtEnd = next.last == nil
                if let last = next.last { self.last = last }
            }
            return page.popFirst()
        }
    }

    /// Creates an iterator that begins at the first entry.
    package func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(self)
    }

    @concurrent
    private func page(after last: Int64) async throws -> (entries: [StoreEntry], last: Int64?) {
        try core.read { connection, database in
            let statement = try connection.prepare(Self.pageQuery.sql(database.state))
            defer { statement.reset() }
            statement.bind(1, last)
            statement.bind(2, Self.pageLength)
            var entries: [StoreEntry] = []
            var reached: Int64?
            while try statement.step() {
                reached = statement.integer(0)
                guard let record = EntryRecord(statement, database.state) else { continue }
                let entry = StoreEntry(record)
                if kind == nil || kind == entry.kind { entries.append(entry) }
            }
            return (entries, reached)
        }
    }

    private static let pageQuery = EntryRecord.Query("id > ?1 ORDER BY id LIMIT ?2")
}
