import CSQLite
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Connections to SQLite: opening, waiting for locks, closing.
@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
    let folder: TemporaryFolder
    var path: String { folder.path + "/a.sqlite" }

    init() throws { folder = try TemporaryFolder() }

    private func connect(isWritable: Bool = false, parameter: String? = nil, waiting: Int32 = 0) throws -> Connection {
        try Connection(path: path, isWritable: isWritable, parameter: parameter, busyMilliseconds: waiting)
    }

    private func failure(_ body: () throws -> Void) throws -> SQLiteFailure {
        do {
            try body()
        } catch {
            return try #require(error as? SQLiteFailure)
        }
        throw TestFailure("It did not fail.")
    }

    /// A reason why a connection cannot be opened.
    enum Obstacle: CaseIterable {
        case noFile, noFolder, folder, otherFile, damagedSchema, lock, noSuchFileSystem

        /// SQLite's extended code and its message.
        var cause: (code: Int32, message: String) {
            switch self {
            case .noFile, .noFolder, .folder: (SQLITE_CANTOPEN, "unable to open database file")
            case .otherFile: (SQLITE_NOTADB, "file is not a database")
            case .damagedSchema: (SQLITE_CORRUPT, "malformed database schema (t) - incomplete input")
            case .lock: (SQLITE_BUSY, "database is locked")
            case .noSuchFileSystem: (SQLITE_ERROR, "no such vfs: none")
            }
        }
    }

    /// - Returns: the connection that holds a lock.
    private func put(_ obstacle: Obstacle) throws -> Connection? {
        switch obstacle {
        case .noFile: break
        case .noFolder: rmdir(folder.path)
        case .folder: mkdir(path, 0o700)
        case .otherFile: try writeFile(path, [UInt8](repeating: 7, count: 20_000))
        case .damagedSchema:
            try runSQL(
                path,
                "CREATE TABLE t (x); PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE t ('"
            )
        case .lock:
            try runSQL(path, "CREATE TABLE t (x)")
            let holder = try connect(isWritable: true)
            try holder.run("BEGIN EXCLUSIVE")
            return holder
        case .noSuchFileSystem: try runSQL(path, "CREATE TABLE t (x)")
        }
        return nil
    }

    @Test(arguments: Obstacle.allCases, [false, true])
    func failedOpeningReportsItsCause(_ obstacle: Obstacle, isWritable: Bool) throws {
        // SQLite opens a folder for reading, and only cannot read it.
        if obstacle == .folder, !isWritable { return }
        let holder = try put(obstacle)
        defer { holder?.close() }
        let failure = try failure {
            _ = try connect(
                isWritable: isWritable,
                parameter: obstacle == .noSuchFileSystem ? "vfs=none" : nil
            )
        }
        #expect(failure.code == obstacle.cause.code && failure.message == obstacle.cause.message)
        #expect(StoreError(failure, path: path).message.contains(obstacle.cause.message))
        // SQLite would create it with its own mode.
        if obstacle == .noFile { #expect(try FileStatus(path: path) == nil) }
    }

    @Test(.enabled(if: getuid() != 0, "root may read anything"))
    func missingPermissionIsACause() throws {
        try runSQL(path, "CREATE TABLE t (x)")
        #expect(chmod(path, 0) == 0)
        let failure = try failure { _ = try connect() }
        #expect(failure.code == SQLITE_CANTOPEN)
        #expect(StoreError(failure, path: path).code == .unwritable)
    }

    @Test func openingSucceedsAfterOneThatFailed() throws {
        let holder = try #require(try put(.lock))
        #expect(try failure { _ = try connect() }.code == SQLITE_BUSY)
        try holder.run("COMMIT")
        #expect(try connect().integer("SELECT count(*) FROM t") == 0)
        holder.close()
        _ = try put(.otherFile)
        #expect(try failure { _ = try connect() }.code == SQLITE_NOTADB)
        unlink(path)
        try runSQL(path, "CREATE TABLE t (x)")
        #expect(try connect().integer("SELECT count(*) FROM t") == 0)
    }

    #if os(Linux)
        @Test(arguments: [Obstacle.otherFile, .damagedSchema])
        func failedOpeningKeepsNoFileOpen(_ obstacle: Obstacle) throws {
            _ = try put(obstacle)
            for _ in 0..<30 { _ = try failure { _ = try connect(isWritable: true) } }
            let open = TemporaryFolder.names("/proc/self/fd").filter { name in
                var target = [CChar](repeating: 0, count: 4096)
                return readlink("/proc/self/fd/" + name, &target, target.count - 1) > 0 && strcmp(target, path) == 0
            }
            #expect(open.isEmpty)
        }
    #endif

    @Test(arguments: ["a?b", "a#b", "a%20b", "ä ö", "a&vfs=none"])
    func pathIsNotReadAsPartOfAURI(_ name: String) throws {
        let path = folder.path + "/" + name
        try runSQL(path, "PRAGMA user_version = 7")
        let connection = try Connection(
            path: path,
            isWritable: false,
            parameter: "immutable=1",
            busyMilliseconds: 0
        )
        #expect(try connection.integer("PRAGMA user_version") == 7)
    }

    @Test func connectionHasItsSettings() throws {
        try runSQL(path, "CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES (1)")
        let connection = try connect(isWritable: true)
        // No mutex of its own, and nothing left of opening.
        #expect(sqlite3_db_mutex(connection.pointer) == nil)
        #expect(sqlite3_next_stmt(connection.pointer, nil) == nil)
        #expect(try connection.integer("PRAGMA foreign_keys") == 0)
        let doubled = try failure { try connection.run("INSERT INTO t VALUES (1)") }
        #expect(doubled.code == SQLITE_CONSTRAINT | 8 << 8)  // SQLITE_CONSTRAINT_UNIQUE
        let reader = try connect()
        #expect(try failure { try reader.run("INSERT INTO t VALUES (2)") }.code == SQLITE_READONLY)
    }

    // MARK: Waiting

    @Test func timeoutIsSet() throws {
        try runSQL(path, "CREATE TABLE t (x)")
        #expect(try connect(waiting: 1234).integer("PRAGMA busy_timeout") == 1234)
        let limits = try StoreLimits(CacheManager.Configuration())
        let writer = try DatabaseOpening.writer(path: path, limits: limits)
        #expect(try writer.integer("PRAGMA busy_timeout") == 500)
        #expect(try DatabaseOpening.reader(path: path).integer("PRAGMA busy_timeout") == 5_000)
    }

    @Test func openingWaitsForALock() async throws {
        let holder = try #require(try put(.lock))
        let (attempts, attempt) = AsyncStream.makeStream(of: Void.self)
        async let rows = countRows { attempt.yield() }
        for await _ in attempts.prefix(1) {}
        try holder.run("INSERT INTO t VALUES (1)")
        try holder.run("COMMIT")
        #expect(try await rows == 1)
    }

    @concurrent private func countRows(_ begin: @Sendable () -> Void) async throws -> Int64? {
        begin()
        return try connect(waiting: 1_200_000).integer("SELECT count(*) FROM t")
    }

    // MARK: Closing

    @Test func closingEndsAStatementThatHasMoreRows() throws {
        try runSQL(path, "CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
        let reader = try connect()
        #expect(try reader.prepare("SELECT x FROM t").step())
        let writer = try connect(isWritable: true)
        #expect(try failure { try writer.run("BEGIN EXCLUSIVE") }.code == SQLITE_BUSY)
        reader.close()
        try writer.run("BEGIN EXCLUSIVE")
        #expect(throws: StoreError.self) { try reader.run("SELECT x FROM t") }
        reader.close()
    }

    @Test func droppedConnectionReleasesItsLock() throws {
        do { _ = try #require(try put(.lock)) }
        try connect(isWritable: true).run("BEGIN EXCLUSIVE")
    }
}
