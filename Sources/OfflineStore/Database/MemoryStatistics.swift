import CSQLiteConfiguration

/// What SQLite counts of the memory that it takes: one lock for all connections of the process,
/// held for each piece of memory taken or given back.
enum MemoryStatistics {
    /// Ends the counting, unless this process has used SQLite before: then it stays as it is. To be
    /// named before anything of SQLite is called. Decision 19.
    static let endedIfUnused: Void = {
        #if !canImport(Darwin)
            // The refusal is no failure: it is somebody else's SQLite then as well.
            _ = csqlite_configureMemoryStatistics(0)
        #endif
    }()
}
