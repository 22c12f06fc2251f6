import CSQLite

/// A connection to a database, with its prepared statements.
///
/// Not sendable: SQLite opens it without a mutex of its own, so the owner ensures that only one
/// thread uses it at a time. Any thread may.
package final class Connection {
    private var handle: OpaquePointer?
    private var statements: [String: SQLStatement] = [:]
    /// The statements prepared first. Comparing lengths is fast, and hashing a text is slow.
    private var first: [(length: Int, sql: String, statement: SQLStatement)] = []
    private static let firstLimit = 32

    /// The SQLite connection while it is open.
    var pointer: OpaquePointer? { handle }
    /// `nil` if reads of this connection may always wait for the disk.
    private(set) var cachedReads: CachedReads?

    /// Opens a database and reads its schema, so that a file that is not a database, is damaged or
    /// is locked fails here.
    ///
    /// SQLite never creates the file, because the store sets its mode.
    ///
    /// - Parameters:
    ///   - isWritable: if SQLite cannot open the file for writing, it opens it for reading.
    ///   - parameter: a parameter of SQLite's file URIs, such as `immutable=1`.
    ///   - busyMilliseconds: how long a statement waits for other connections' locks.
    ///   - configure: runs before anything is read.
    /// - Throws: ``SQLiteFailure`` with SQLite's reason.
    init(
        path: String,
        isWritable: Bool,
        parameter: String? = nil,
        busyMilliseconds: Int32,
        configure: (Connection) throws -> Void = { _ in }
    ) throws {
        let flags = isWritable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        if let parameter {
            handle = try Self.open(Self.uri(path, parameter), flags | SQLITE_OPEN_URI)
        } else {
            handle = try Self.open(path, flags)
        }
        // If one of these throws, `deinit` closes the connection.
        sqlite3_busy_timeout(handle, busyMilliseconds)
        // The schema has none, but a build of SQLite may turn them on.
        try run("PRAGMA foreign_keys = OFF")
        try configure(self)
        try run("SELECT * FROM sqlite_master LIMIT 1")
        forgetStatements()
    }

    deinit { close() }

    /// Opens a connection without a mutex that reports extended result codes. It reads nothing yet.
    ///
    /// - Throws: ``SQLiteFailure``, which has the reason of the connection that failed.
    static func open(_ path: String, _ flags: Int32) throws -> OpaquePointer {
        MemoryStatistics.disableUnlessInUse
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, flags | SQLITE_OPEN_NOMUTEX, nil)
        guard code == SQLITE_OK, let handle else {
            // SQLite returns a connection that failed too, unless it has no memory for one.
            defer { sqlite3_close_v2(handle) }
            throw SQLiteFailure(code: handle == nil ? code : sqlite3_extended_errcode(handle), connection: handle)
        }
        sqlite3_extended_result_codes(handle, 1)
        return handle
    }

    static func uri(_ path: String, _ parameter: String) -> String {
        let escaped = path.utf8.map { byte -> String in
            switch byte {
            case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0x80...: "%" + String(byte, radix: 16)
            default: String(UnicodeScalar(byte))
            }
        }
        return "file:\(escaped.joined())?\(parameter)"
    }

    /// Enables reads that do not wait for the disk, where the system has them.
    ///
    /// - Parameter path: the database's path. The database has a write-ahead log.
    func enableCachedReads(path: String) {
        if let handle, cachedReads == nil { cachedReads = CachedReads(handle, path: path) }
    }

    /// Finalizes the statements and closes the connection. Later calls throw.
    func close() {
        forgetStatements()
        cachedReads?.remove()
        cachedReads = nil
        // The other `sqlite3_close` stays open if it finds a statement.
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Finalizes the statements. The next ones to be prepared are found fastest.
    func forgetStatements() {
        for statement in first.map(\.statement) + statements.values { statement.finalize() }
        first = []
        statements = [:]
    }

    /// Returns the prepared statement for a text, ready to be bound.
    ///
    /// The same text must not be prepared again while its statement is being stepped.
    package func prepare(_ sql: String) throws -> SQLStatement {
        let length = sql.utf8.count
        for index in first.indices where first[index].length == length && first[index].sql == sql {
            let statement = first[index].statement
            statement.reset()
            return statement
        }
        if let statement = statements[sql] {
            statement.reset()
            return statement
        }
        guard let handle else { throw StoreError.closed }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else {
            var failure = SQLiteFailure(code: code, connection: handle)
            // Every statement is constant, so a missing table or column means that the schema is
            // damaged.
            if failure.primaryCode == SQLITE_ERROR { failure.code = SQLITE_CORRUPT }
            throw failure
        }
        let prepared = SQLStatement(statement)
        if first.count < Self.firstLimit { first.append((length, sql, prepared)) } else { statements[sql] = prepared }
        return prepared
    }

    /// Runs a statement that returns no rows.
    package func run(_ sql: String, _ values: Int64...) throws {
        let statement = try prepare(sql)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        try statement.run()
    }

    /// Runs the statements of a script in order, without keeping them.
    func execute(script: String) throws {
        guard let handle else { throw StoreError.closed }
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, connection: handle) }
    }

    /// Runs a transaction. It is rolled back on any failure, so that the connection never stays
    /// inside one.
    func transaction(_ body: () throws -> Void) throws {
        do {
            try run("BEGIN IMMEDIATE")
            try body()
            try run("COMMIT")
        } catch {
            if isInTransaction { try? run("ROLLBACK") }
            throw error
        }
    }

    /// Returns the first column of the first row.
    package func integer(_ sql: String, _ values: Int64...) throws -> Int64? {
        let statement = try prepare(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// The number of rows that the last statement inserted, updated or deleted.
    var changes: Int { handle.map { Int(sqlite3_changes($0)) } ?? 0 }

    var isInTransaction: Bool { handle.map { sqlite3_get_autocommit($0) == 0 } ?? false }
}
