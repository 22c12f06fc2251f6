import CSQLiteConfiguration

/// SQLite's memory statistics. They take one lock for all connections of the process at each
/// allocation and release.
enum MemoryStatistics {
    /// Turns the statistics off, unless this process has used SQLite before. It must be named
    /// before any other call of SQLite. Decision 19.
    static let disableUnlessInUse: Void = {
        #if !canImport(Darwin)
            // SQLite refuses if other code in the process uses it already, which is no failure.
            _ = csqlite_configureMemoryStatistics(0)
        #endif
    }()
}
