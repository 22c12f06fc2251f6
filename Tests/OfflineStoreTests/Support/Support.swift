import CSQLite
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore
import OfflineStore
import StoreFiles
import Synchronization
import TestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A clock that stands until it is moved.
final class ManualClock: WallClock {
    private let instant: Mutex<Timestamp>

    init(_ milliseconds: Int64 = 1_700_000_000_000) {
        instant = Mutex(Timestamp(milliseconds: milliseconds))
    }

    func now() -> Timestamp { instant.withLock { $0 } }

    func advance(by duration: Duration) {
        instant.withLock { $0 = $0.adding(duration) }
    }
}

// MARK: Files

func fileMode(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt32(status.st_mode) & 0o777 : 0
}

func fileSize(_ path: String) -> Int64 {
    var status = stat()
    return stat(path, &status) == 0 ? Int64(status.st_size) : -1
}

/// Returns size, modification time and content of files, to show whether anything changed.
func fingerprint(_ folder: String, _ isIncluded: (String) -> Bool = { _ in true }) throws -> [String: [Int64]] {
    var fingerprint: [String: [Int64]] = [:]
    for name in TemporaryFolder.names(folder) where isIncluded(name) {
        var status = stat()
        guard stat(folder + "/" + name, &status) == 0 else { continue }
        let hash = XXHash64.hash(try readFile(folder + "/" + name))
        #if canImport(Darwin)
            let time = Int64(status.st_mtimespec.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtimespec.tv_nsec)
        #else
            let time = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        #endif
        fingerprint[name] = [Int64(status.st_size), time, Int64(bitPattern: hash)]
    }
    return fingerprint
}

/// Runs SQL on a file through a connection of its own, like another program.
func runSQL(_ path: String, _ sql: String) throws {
    var connection: OpaquePointer?
    guard sqlite3_open(path, &connection) == SQLITE_OK else { throw TestFailure("sqlite3_open \(path)") }
    defer { sqlite3_close(connection) }
    sqlite3_busy_timeout(connection, 10_000)
    guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
        throw TestFailure("\(sql): \(String(cString: sqlite3_errmsg(connection)))")
    }
}

/// Holds SQLite's write lock during `body`.
func withWriterStopped(_ path: String, _ body: () throws -> Void) throws {
    var connection: OpaquePointer?
    guard sqlite3_open(path, &connection) == SQLITE_OK else { throw TestFailure("sqlite3_open \(path)") }
    defer { sqlite3_close(connection) }
    sqlite3_busy_timeout(connection, 10_000)
    guard sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK else {
        throw TestFailure("BEGIN IMMEDIATE: \(String(cString: sqlite3_errmsg(connection)))")
    }
    defer { sqlite3_exec(connection, "ROLLBACK", nil, nil, nil) }
    try body()
}

func queryInteger(_ path: String, _ sql: String) throws -> Int64 {
    var connection: OpaquePointer?
    guard sqlite3_open_v2(path, &connection, SQLITE_OPEN_READONLY, nil) == SQLITE_OK else {
        throw TestFailure("sqlite3_open \(path)")
    }
    defer { sqlite3_close(connection) }
    sqlite3_busy_timeout(connection, 10_000)
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
        throw TestFailure("\(sql): \(String(cString: sqlite3_errmsg(connection)))")
    }
    defer { sqlite3_finalize(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { throw TestFailure("\(sql): no row") }
    return sqlite3_column_int64(statement, 0)
}

// MARK: Stores and responses

func openStore(
    _ path: String,
    clock: ManualClock = ManualClock(),
    budget: Int64 = 64 << 20,
    _ change: (inout CacheManager.Configuration) -> Void = { _ in }
) async throws -> CacheManager {
    var configuration = CacheManager.Configuration(budget: budget)
    configuration.readerCount = 2
    change(&configuration)
    return try await CacheManager.open(at: path, configuration: configuration, clock: clock, logger: quiet)
}

func openReadOnly(_ path: String, clock: ManualClock = ManualClock()) async throws -> CacheManager {
    var configuration = CacheManager.Configuration()
    configuration.readerCount = 2
    return try await CacheManager.openReadOnly(at: path, configuration: configuration, clock: clock, logger: quiet)
}

let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

func cacheKey(_ path: String, partition: StoreKey.Partition = .common) throws -> StoreKey {
    StoreKey(partition: partition, method: .get, target: try TargetURI("https://api.example\(path)"))
}

func draft(
    _ key: StoreKey,
    at now: Timestamp,
    freshFor: Duration = .seconds(60),
    isUsableStale: Bool = true,
    fields: HTTPFields = [.contentType: "text/plain"],
    selecting: HTTPFields = [:],
    expectedLength: StatedLength? = nil,
    tags: [String] = []
) -> ResponseDraft {
    ResponseDraft(
        key: key,
        head: StoredResponseHead(
            selectingFields: selecting,
            status: .ok,
            fields: fields,
            requestTime: now,
            responseTime: now
        ),
        freshUntil: now.adding(freshFor),
        isUsableStale: isUsableStale,
        expectedLength: expectedLength,
        storedAt: now,
        tags: tags
    )
}

/// Returns the draft that a 304 makes of a stored response.
func renewed(
    _ response: StoredResponse,
    _ head: StoredResponseHead? = nil,
    at freshUntil: Timestamp,
    tags: [String] = []
) -> ResponseDraft {
    ResponseDraft(
        key: response.key,
        head: head ?? response.head,
        freshUntil: freshUntil,
        isUsableStale: true,
        storedAt: response.storedAt,
        tags: tags
    )
}

extension CacheManager {
    /// Stores a response in pieces, as the engine does.
    @discardableResult
    func store(_ draft: ResponseDraft, _ pieces: [ByteBuffer], fencingNumber: InvalidationSequence? = nil) async throws
        -> StoredResponse?
    {
        guard
            let writer = try await responses.beginWrite(
                draft,
                fencingNumber: fencingNumber ?? responses.invalidationSequence
            )
        else {
            return nil
        }
        for piece in pieces { try await writer.append(piece) }
        return try await writer.finish()
    }

    @discardableResult
    func store(_ draft: ResponseDraft, _ text: String, fencingNumber: InvalidationSequence? = nil) async throws
        -> StoredResponse?
    {
        try await store(draft, [ByteBuffer(string: text)], fencingNumber: fencingNumber)
    }

    /// Returns the body of a key's only response as text; `nil` if there is none.
    func text(of key: StoreKey) async throws -> String? {
        guard let response = try await responses.lookup(key).first else { return nil }
        guard let body = try await responses.openBody(of: response) else { return nil }
        return String(buffer: try await body.collect(upTo: 1 << 30))
    }
}

/// Returns varied bytes, the same for the same seed; no two stretches of 4 KiB are equal.
func pattern(_ count: Int, seed: UInt64 = 1) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(count + 4096)
    var number: UInt64 = 0
    while buffer.readableBytes < count {
        buffer.writeInteger(seed &+ number)
        buffer.writeBytes(noise)
        number += 1
    }
    return buffer.getSlice(at: 0, length: count) ?? ByteBuffer()
}

private let noise: [UInt8] = {
    var generator = SeededGenerator(seed: 7)
    return (0..<4088).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}()

func code(_ body: () async throws -> Void) async -> StoreError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? StoreError)?.code
    }
}

func message(_ body: () async throws -> Void) async -> String {
    do {
        try await body()
        return ""
    } catch {
        return "\(error)"
    }
}
