import CSQLite

extension CacheManager {
    /// The version of the SQLite library that this process uses: `3.46.1`.
    package static var sqliteVersion: String { String(cString: sqlite3_libversion()) }
}
