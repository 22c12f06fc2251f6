import CSQLite
import LibC

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

    func bind(_ index: Int32, text: String) {
        sqlite3_bind_text(pointer, index, text, -1, Self.transient)
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

    func finalize() {
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
