import CSQLite
import HTTPCache
import HTTPCacheSemantics
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore

/// SQLite reuses its log only in a moment without readers. With readers that never pause, there is
/// no such moment by chance.
@Suite(.timeLimit(.minutes(20))) struct ConstantReadersTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    @Test(arguments: [(400, 1500), (50_000, 400)])
    func logStaysSmallUnderConstantReading(_ length: Int, _ count: Int) async throws {
        let threshold: Int64 = 1 << 20
        let store = try await openStore(folder.store, clock: clock) { $0.checkpointThreshold = threshold }
        let guest = try await openReadOnly(folder.store, clock: clock)
        let limits = try store.core.database().state.limits
        #expect(limits.log == 2 * threshold + 3 * Int64(limits.transaction) && limits.transaction <= 4 << 20)
        let log = folder.store + "/0001.sqlite-wal"
        let observed = Observed()
        let body = pattern(length)
        try await withThrowingTaskGroup(of: Void.self) { readers in
            for (number, reader) in [store, guest, store, guest, guest].enumerated() {
                readers.addTask {
                    while observed.isWriting.load(ordering: .relaxed) {
                        let key = try cacheKey(
                            "/\((observed.reads.add(1, ordering: .relaxed).newValue &* 7 + number) % 300)"
                        )
                        if let response = try await reader.responses.lookup(key).first {
                            _ = try await reader.responses.openBody(of: response)?.collect(upTo: length)
                        }
                        observed.largest.max(fileSize(log), ordering: .relaxed)
                        // There are few threads for all tasks: this gives them to the writers,
                        // while other readers continue.
                        await Task.yield()
                    }
                }
            }
            readers.addTask {
                let relay = try Relay(folder.store + "/0001.sqlite")
                while observed.isWriting.load(ordering: .relaxed) {
                    try relay.pass()
                    observed.largest.max(fileSize(log), ordering: .relaxed)
                    await Task.yield()
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { writers in
                for index in 0..<count {
                    if index >= 8 { try await writers.next() }
                    writers.addTask {
                        let draft = draft(
                            try cacheKey("/\(index % 1000)"),
                            at: clock.now(),
                            tags: ["a", "b-\(index % 50)"]
                        )
                        try await store.store(draft, [body])
                        observed.largest.max(fileSize(log), ordering: .relaxed)
                    }
                }
                try await writers.waitForAll()
            }
            observed.isWriting.store(false, ordering: .relaxed)
            try await readers.waitForAll()
        }
        let largest = observed.largest.load(ordering: .relaxed)
        // If the machine pauses another program's reader for longer than the writer waits, some
        // entries are not stored.
        #expect(largest > 0 && largest <= limits.heldLog, "\(largest)")
        #expect(observed.reads.load(ordering: .relaxed) > 100)
        if largest <= limits.log { #expect(try await store.statistics().responses == min(count, 1000)) }
        try await guest.close()
        try await store.close()
    }
}

/// State that the tasks of a test share.
private final class Observed: Sendable {
    /// The largest observed size of the log.
    let largest = Atomic<Int64>(0)
    let isWriting = Atomic(true)
    let reads = Atomic(0)
}

/// Two connections of another program that alternate: each reads for a moment, and one of them
/// always reads.
private final class Relay {
    private var connections: [OpaquePointer?] = []
    private var next = 0

    init(_ path: String) throws {
        for _ in 0..<2 {
            var connection: OpaquePointer?
            let code = sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil)
            connections.append(connection)
            sqlite3_busy_timeout(connection, 10_000)
            guard code == SQLITE_OK else { throw TestFailure("sqlite3_open \(path)") }
        }
    }

    deinit {
        for connection in connections { sqlite3_close(connection) }
    }

    func pass() throws {
        let (first, second) = (connections[next], connections[1 - next])
        guard sqlite3_exec(first, "BEGIN; SELECT count(*) FROM garbage", nil, nil, nil) == SQLITE_OK else {
            throw TestFailure("BEGIN: \(String(cString: sqlite3_errmsg(first)))")
        }
        if sqlite3_get_autocommit(second) == 0 { sqlite3_exec(second, "COMMIT", nil, nil, nil) }
        next = 1 - next
    }
}
