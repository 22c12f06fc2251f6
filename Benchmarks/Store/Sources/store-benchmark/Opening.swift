import OfflineStore

/// Opens a store in a new process, and reads the first response from it.
enum Opening {
    /// - Parameters, from `options`: those of ``Store``, and `count` of the stored
    ///   responses.
    @concurrent
    static func measure(_ options: Options) async throws -> Report {
        let count = try options.number("count")
        let before = FileBytes.read
        let watch = Stopwatch()
        let store = try await Store.open(options)
        var report: Report = ["open": watch.elapsed * 1000]
        report["read"] = FileBytes.read - before
        _ = try await Reading.readResponses(store, [try Content.responseKey(count / 2)])
        report["firstRead"] = watch.elapsed * 1000
        report["resident"] = ResidentMemory.present
        try await store.close()
        return report
    }
}
