import GRDB
import Synchronization

/// The read-only connections, each used by one caller at a time.
///
/// No transaction is held across an `await`. In the writing process a connection keeps its snapshot
/// from one read to the next for as long as nothing was committed: taking and leaving SQLite's
/// locks costs more than a lookup. The writer has the snapshots let go before each checkpoint, so
/// that a log never grows because of one.
final class ReaderPool: Sendable {
    private let all: [Reader]
    private let free: Mutex<[Reader]>
    private let next = Atomic(0)
    /// Transactions that the writer has committed; what a kept snapshot is compared with. `nil`
    /// where another process writes.
    private let commits: CommitCount?
    private let keepsSnapshots = Atomic(true)

    /// - Parameters:
    ///   - commits: `nil`: each read has a snapshot of its own.
    ///   - open: opens a connection with a page cache of some bytes.
    init(count: Int, commits: CommitCount? = nil, open: (_ cache: Int) throws -> DatabaseQueue) throws {
        // The last one is lent first, so it has the largest cache.
        let ranks = (0..<max(1, count)).reversed()
        all = try ranks.map { Reader(try open($0 == 0 ? 16 << 20 : $0 == 1 ? 8 << 20 : 2 << 20)) }
        free = Mutex(all)
        self.commits = commits
    }

    /// Lends a connection, a free one where there is one, else one that will be free soon.
    /// Everything read with it is of one snapshot.
    func read<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        let taken = free.withLock { $0.popLast() }
        defer {
            if let taken { free.withLock { $0.append(taken) } }
        }
        let reader = taken ?? all[next.wrappingAdd(1, ordering: .relaxed).newValue % all.count]
        return try reader.read(commits: commits, keepsSnapshots, body)
    }

    /// Runs something while no connection keeps a snapshot longer than it reads.
    ///
    /// Nobody is waited for: a connection that is reading lets go of its snapshot itself when it
    /// has read.
    ///
    /// - Parameter body: told whether nobody is reading in a snapshot from before.
    func withoutKeptSnapshots<Result>(_ body: (_ areGone: Bool) throws -> Result) rethrows -> Result {
        keepsSnapshots.store(false, ordering: .sequentiallyConsistent)
        defer { keepsSnapshots.store(true, ordering: .releasing) }
        var areGone = true
        for reader in all where !reader.letGo() { areGone = false }
        return try body(areGone)
    }

    /// Waits for the reads that are under way, then closes.
    func close() {
        for reader in all { reader.close() }
    }
}

/// How many transactions were committed: what tells whether a snapshot is the present one.
final class CommitCount: Sendable {
    private let count = Atomic<UInt64>(1)
    var value: UInt64 { count.load(ordering: .acquiring) }
    /// To be called after each commit, before anybody is told of it.
    func advance() { count.wrappingAdd(1, ordering: .releasing) }
}

/// One read-only connection.
///
/// `@unchecked Sendable`: connection and snapshot are only touched while `lock` is held.
private final class Reader: @unchecked Sendable {
    private let lock = Mutex(())
    private let queue: DatabaseQueue
    private var connection: Connection?
    /// The number of commits when the kept snapshot was taken, or earlier; 0 for none.
    private var snapshot: UInt64 = 0

    init(_ queue: DatabaseQueue) {
        self.queue = queue
        connection = queue.unsafeRead { Connection($0, isTakenOver: true) }
    }

    func read<Result>(
        commits: CommitCount?,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        // Through a variable: what a lock returns has to be sendable, and what is read need not be.
        var result: Result?
        try lock.withLock { _ in result = try readLocked(commits: commits, keepsSnapshots, body) }
        guard let result else { throw StoreCore.closed }
        return result
    }

    private func readLocked<Result>(
        commits: CommitCount?,
        _ keepsSnapshots: borrowing Atomic<Bool>,
        _ body: (Connection) throws -> Result
    ) throws -> Result {
        guard let connection else { throw StoreCore.closed }
        // Counted before the snapshot is taken: that may be newer than the count says, and never
        // older.
        let count = commits?.value ?? 0
        if snapshot == 0 || snapshot != count {
            try leaveSnapshot(connection)
            try connection.run("BEGIN")
            snapshot = count
        }
        do {
            let result = try body(connection)
            if commits == nil || !keepsSnapshots.load(ordering: .sequentiallyConsistent) {
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

    /// - Returns: `false` when it is reading just now.
    func letGo() -> Bool {
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
            try? queue.close()
        }
    }
}
