import Synchronization

/// The read-only connections. Each is used by one caller at a time.
///
/// No transaction is held across an `await`. In the writing process, a connection keeps its
/// snapshot between reads until something is committed, because SQLite's locks cost more than a
/// lookup. The writer releases kept snapshots before each checkpoint, so that they do not make the
/// log grow.
final class ReaderPool: Sendable {
    private let all: [Reader]
    private let free: Mutex<[Reader]>
    private let next = Atomic(0)
    /// The number of committed transactions, which kept snapshots are compared with. `nil` if
    /// another process writes.
    private let commits: CommitCount?
    private let keepsSnapshots = Atomic(true)

    /// - Parameters:
    ///   - commits: `nil` gives each read its own snapshot.
    ///   - open: opens a connection with a page cache of this many bytes.
    init(count: Int, commits: CommitCount? = nil, open: (_ cache: Int) throws -> Connection) throws {
        // The last connection is used first, so it has the largest cache.
        let ranks = (0..<max(1, count)).reversed()
        all = try ranks.map { Reader(try open($0 == 0 ? 16 << 20 : $0 == 1 ? 8 << 20 : 2 << 20)) }
        free = Mutex(all)
        self.commits = commits
    }

    /// Passes a connection to `body`: an idle one if possible, otherwise it waits for one. All
    /// reads in `body` see one snapshot.
    func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        let taken = free.withLock { $0.popLast() }
        defer {
            if let taken { free.withLock { $0.append(taken) } }
        }
        let reader = taken ?? all[next.wrappingAdd(1, ordering: .relaxed).newValue % all.count]
        return try reader.read(commits: commits, keepsSnapshots, body)
    }

    /// Passes a connection to `body` if that needs no waiting: not for a connection, a lock or the
    /// disk.
    ///
    /// - Returns: `nil` if it would have to wait, or if `body` throws. Call ``read(_:)`` then, on a
    ///   thread that may wait. No transaction is left open.
    func readAtOnce<Result>(_ body: (Connection) throws -> Result) -> Result? {
        guard let commits, let reader = free.withLock({ $0.popLast() }) else { return nil }
        defer { free.withLock { $0.append(reader) } }
        return reader.readAtOnce(commits: commits, keepsSnapshots, body)
    }

    /// Runs `body` while no connection keeps its snapshot after a read.
    ///
    /// It does not wait for readers: a connection that is reading releases its snapshot after the
    /// read.
    ///
    /// - Parameter body: receives whether no connection is still reading an older snapshot.
    func withoutKeptSnapshots<Result>(_ body: (_ areGone: Bool) throws -> Result) rethrows -> Result {
        keepsSnapshots.store(false, ordering: .sequentiallyConsistent)
        defer { keepsSnapshots.store(true, ordering: .releasing) }
        var areGone = true
        for reader in all where !reader.releaseSnapshot() { areGone = false }
        return try body(areGone)
    }

    /// Waits for reads in progress, then closes the connections.
    func close() {
        for reader in all { reader.close() }
    }
}

/// The number of committed transactions, which shows whether a snapshot is current.
final class CommitCount: Sendable {
    private let count = Atomic<UInt64>(1)
    var value: UInt64 { count.load(ordering: .acquiring) }
    /// Must be called after each commit, before the commit is reported.
    func advance() { count.wrappingAdd(1, ordering: .releasing) }
}

/// One read-only connection.
///
/// `@unchecked Sendable`: the connection and the snapshot are only accessed while `lock` is held.
private final class Reader: @unchecked Sendable {
    private let lock = Mutex(())
    private var connection: Connection?
    /// The number of commits when the kept snapshot was taken, or an earlier number; 0 if there is
    /// no snapshot.
    private var snapshot: UInt64 = 0

    init(_ connection: Connection) {
        self.connection = connection
    }

    func read<Result>(
        commits: CommitCount?,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        // The result is passed through a variable, because a lock's result must be sendable and a
        // read's result need not be.
        var result: Result?
        try lock.withLock { _ in result = try readLocked(commits: commits, keepsSnapshots, body) }
        guard let result else { throw StoreError.closed }
        return result
    }

    private func readLocked<Result>(
        commits: CommitCount?,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        guard let connection else { throw StoreError.closed }
        // The count is read before the snapshot is taken, so the snapshot may be newer than the
        // count, but never older.
        let count = commits?.value ?? 0
        if !hasSnapshot(of: count) {
            try leaveSnapshot(connection)
            try connection.run("BEGIN")
            snapshot = count
        }
        return try readInSnapshot(connection, keepsIt: commits != nil, keepsSnapshots, body)
    }

    /// Reads only from a kept snapshot, because taking one needs SQLite's locks, and SQLite may
    /// sleep before it tries again.
    func readAtOnce<Result>(
        commits: CommitCount,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) -> Result? {
        var result: Result?
        _ = lock.withLockIfAvailable { _ in
            guard let connection, let reads = connection.cachedReads, hasSnapshot(of: commits.value) else { return }
            reads.mayWait = false
            defer { reads.mayWait = true }
            result = try? readInSnapshot(connection, keepsIt: true, keepsSnapshots, body)
        }
        return result
    }

    private func hasSnapshot(of count: UInt64) -> Bool { snapshot != 0 && snapshot == count }

    private func readInSnapshot<Result>(
        _ connection: Connection,
        keepsIt: Bool,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        do {
            let result = try body(connection)
            if !keepsIt || !keepsSnapshots.load(ordering: .sequentiallyConsistent) {
                try leaveSnapshot(connection)
            }
            return result
        } catch {
            try? leaveSnapshot(connection)
            throw error
        }
    }

    private func leaveSnapshot(_ connection: Connection) throws {
        snapshot = 0
        if connection.isInTransaction { try connection.run("COMMIT") }
    }

    /// - Returns: `false` if it is reading now.
    func releaseSnapshot() -> Bool {
        lock.withLockIfAvailable { _ in
            if let connection { try? leaveSnapshot(connection) }
            return true
        } ?? false
    }

    func close() {
        lock.withLock { _ in
            guard let connection else { return }
            try? leaveSnapshot(connection)
            connection.close()
            self.connection = nil
        }
    }
}
