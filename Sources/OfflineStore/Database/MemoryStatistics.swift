import CSQLite

/// SQLite's memory statistics. They take a process-wide lock on each allocation and release.
enum MemoryStatistics {
    /// Turns the statistics off, unless this process has already used SQLite. Access it before any
    /// other SQLite call. Decision 19.
    static let disableUnlessInUse: Void = {
        #if !canImport(Darwin)
            // SQLite refuses if other code in the process already uses it. That is not an error.
            _ = csqlite_configureMemoryStatistics(0)
        #endif
    }()
}
