import GRDB
import GRDBSQLite

/// One of GRDB's connections, lent for the time of one access, with its prepared statements.
///
/// GRDB opens, guards and closes connections and keeps the statements; stepping them goes straight to SQLite, because a lookup is
/// to take microseconds.
struct Connection {
    let database: Database

    init(_ database: Database) {
        self.database = database
    }

    var pointer: OpaquePointer? { database.sqliteConnection }

    /// The prepared statement for a text, ready to be bound.
    ///
    /// Not to be asked for again while it is stepped.
    func prepare(_ sql: String) throws -> SQLStatement {
        guard pointer != nil else {
            throw StoreError(code: .closed, message: "The store has been closed. Open it again to go on.")
        }
        do {
            return SQLStatement(try database.cachedStatement(sql: sql))
        } catch let error as DatabaseError {
            // Preparing reads the schema; the connection knows whether it was the disk that failed.
            throw SQLiteFailure(code: error.extendedResultCode.rawValue, connection: pointer)
        }
    }

    /// Runs a statement that answers with nothing.
    func run(_ sql: String, _ values: Int64...) throws {
        let statement = try prepare(sql)
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        try statement.run()
    }

    /// The first column of the first row.
    func integer(_ sql: String, _ values: Int64...) throws -> Int64? {
        let statement = try prepare(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Rows that the last statement inserted, updated or deleted.
    var changes: Int { pointer.map { Int(sqlite3_changes($0)) } ?? 0 }

    var isInTransaction: Bool { pointer.map { sqlite3_get_autocommit($0) == 0 } ?? false }
}

/// A prepared statement: bind, step, read, reset.
struct SQLStatement {
    private let statement: Statement
    private var pointer: OpaquePointer { statement.sqliteStatement }

    /// Tells SQLite to copy what is bound.
    ///
    /// The value is SQLite's own constant, which Swift cannot import.
    private static let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ statement: Statement) {
        self.statement = statement
    }

    func bind(_ index: Int32, _ value: Int64) {
        sqlite3_bind_int64(pointer, index, value)
    }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { sqlite3_bind_int64(pointer, index, value) } else { sqlite3_bind_null(pointer, index) }
    }

    func bind(_ index: Int32, _ value: Bool) {
        sqlite3_bind_int64(pointer, index, value ? 1 : 0)
    }

    func bind(_ index: Int32, _ octets: [UInt8]) {
        if octets.isEmpty {
            sqlite3_bind_zeroblob(pointer, index, 0)
        } else {
            octets.withUnsafeBytes {
                _ = sqlite3_bind_blob64(pointer, index, $0.baseAddress, UInt64($0.count), Self.transient)
            }
        }
    }

    /// Binds octets without copying them: the statement is run, and reset, before they go.
    func run(binding octets: UnsafeRawBufferPointer, at index: Int32) throws {
        sqlite3_bind_blob64(pointer, index, octets.baseAddress, UInt64(octets.count), nil)
        defer { sqlite3_bind_null(pointer, index) }
        try run()
    }

    /// `true` when there is a row to read.
    func step() throws -> Bool {
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        let failure = SQLiteFailure(code: code, connection: sqlite3_db_handle(pointer))
        sqlite3_reset(pointer)
        throw failure
    }

    /// Steps to the end and resets.
    func run() throws {
        defer { sqlite3_reset(pointer) }
        while try step() {}
    }

    func reset() {
        sqlite3_reset(pointer)
    }

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(pointer, column)
    }

    func flag(_ column: Int32) -> Bool {
        sqlite3_column_int64(pointer, column) != 0
    }

    /// Lends a column's octets until the next step.
    func withOctets<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let start = sqlite3_column_blob(pointer, column)
        return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    func octets(_ column: Int32) -> [UInt8] {
        withOctets(column) { [UInt8]($0) }
    }

    func text(_ column: Int32) -> String {
        sqlite3_column_text(pointer, column).map { String(cString: $0) } ?? ""
    }
}
