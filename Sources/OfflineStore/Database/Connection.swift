import GRDB
import GRDBSQLite

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One of GRDB's connections, with its own prepared statements.
///
/// GRDB opens, configures and closes connections. Statements are prepared and stepped through
/// SQLite directly, because a lookup must take only microseconds.
///
/// Not sendable: the owner ensures that only one thread uses it at a time.
package final class Connection {
    private var handle: OpaquePointer?
    private var statements: [String: SQLStatement] = [:]
    /// The statements prepared first. Comparing lengths is fast, and hashing a text is slow.
    private var first: [(length: Int, sql: String, statement: SQLStatement)] = []
    private static let firstLimit = 32

    /// The SQLite connection while it is open.
    var pointer: OpaquePointer? { handle }

    /// - Parameter isTakenOver: whether the connection is used without GRDB, on any thread. GRDB's
    ///   transaction hooks are removed.
    init(_ database: Database, isTakenOver: Bool = false) {
        handle = database.sqliteConnection
        guard isTakenOver, let handle else { return }
        sqlite3_commit_hook(handle, nil, nil)
        sqlite3_rollback_hook(handle, nil, nil)
        sqlite3_update_hook(handle, nil, nil)
    }

    deinit { finalizeStatements() }

    /// Finalizes the statements. Call it before GRDB closes the connection; later calls throw.
    func close() {
        finalizeStatements()
        handle = nil
    }

    private func finalizeStatements() {
        guard handle != nil else { return }
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
        guard let handle else {
            throw StoreError(code: .closed, message: "The store is closed. Open it again to continue.")
        }
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
        guard let handle else {
            throw StoreError(code: .closed, message: "The store is closed. Open it again to continue.")
        }
        let code = sqlite3_exec(handle, script, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteFailure(code: code, connection: handle) }
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

/// A prepared statement: bind, step, read, reset. It belongs to its connection, and must not be
/// used after the connection is closed.
package struct SQLStatement {
    private let pointer: OpaquePointer

    /// Makes SQLite copy bound bytes.
    ///
    /// This is SQLite's own constant, which Swift cannot import.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    package func bind(_ index: Int32, _ value: Int64) {
        sqlite3_bind_int64(pointer, index, value)
    }

    package func bind(_ index: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(pointer, index, value) } else { sqlite3_bind_null(pointer, index) }
    }

    package func bind(_ index: Int32, _ value: Bool) {
        sqlite3_bind_int64(pointer, index, value ? 1 : 0)
    }

    package func bind(_ index: Int32, _ bytes: [UInt8]) {
        if bytes.isEmpty {
            sqlite3_bind_zeroblob(pointer, index, 0)
        } else {
            bytes.withUnsafeBytes {
                _ = sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), Self.transient)
            }
        }
    }

    /// Binds bytes without copying them. The statement must be run and reset while they are valid.
    func bindBorrowed(_ index: Int32, _ bytes: UnsafeRawBufferPointer) {
        if bytes.isEmpty {
            sqlite3_bind_zeroblob(pointer, index, 0)
        } else {
            sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), nil)
        }
    }

    /// Binds bytes without copying them, and runs the statement.
    package func run(binding bytes: UnsafeRawBufferPointer, at index: Int32) throws {
        sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), nil)
        defer { sqlite3_bind_null(pointer, index) }
        try run()
    }

    /// Steps to the next row; `true` if there is one to read.
    package func step() throws -> Bool {
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        let failure = SQLiteFailure(code: code, connection: sqlite3_db_handle(pointer))
        sqlite3_reset(pointer)
        throw failure
    }

    /// Steps to the end, and resets.
    package func run() throws {
        defer { sqlite3_reset(pointer) }
        while try step() {}
    }

    package func reset() {
        sqlite3_reset(pointer)
    }

    fileprivate func finalize() {
        sqlite3_finalize(pointer)
    }

    package func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(pointer, column)
    }

    package func flag(_ column: Int32) -> Bool {
        sqlite3_column_int64(pointer, column) != 0
    }

    /// Passes a column's bytes to a closure; they are valid until the next step.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_column_blob(pointer, column)
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    /// Returns whether a column has exactly these bytes.
    func hasBytes(_ column: Int32, _ bytes: [UInt8]) -> Bool {
        withBytes(column) { found in
            guard found.count == bytes.count, let start = found.baseAddress else { return found.count == bytes.count }
            return bytes.withUnsafeBytes { $0.baseAddress.map { memcmp(start, $0, found.count) == 0 } ?? true }
        }
    }

    package func bytes(_ column: Int32) -> [UInt8] {
        withBytes(column) { [UInt8]($0) }
    }

    func text(_ column: Int32) -> String {
        sqlite3_column_text(pointer, column).map { String(cString: $0) } ?? ""
    }
}
