package import HTTPCache

/// The recordings of a running gateway, for operators.
package protocol RecordingOperations: Sendable {
    /// The recordings that run, by name, followed by the ended ones, newest first.
    var recordings: [RecordingState] { get async }

    /// Begins a recording. When this returns, its address accepts requests.
    ///
    /// - Throws: ``RecordingRefusal``, or an error of the store or the new listener.
    func begin(_ plan: RecordingPlan) async throws -> RecordingState

    /// Ends a recording, after the requests in progress have ended.
    ///
    /// - Parameters:
    ///   - keeps: whether the job is kept.
    ///   - client: the client that ends it, for the log.
    /// - Returns: what became of it, which may be the work of another ending; `nil` if there is no
    ///   such recording.
    func end(_ name: JobName, keeps: Bool, by client: String) async -> RecordingState?

    /// Ends all recordings without a job, and begins no more.
    func close() async
}

/// The reason that a recording does not begin.
package enum RecordingRefusal: Error, Sendable, Hashable {
    /// As many recordings as allowed are running.
    case tooMany(limit: Int)
    /// A recording with the name is running.
    case running(JobName)
    /// A job with the name exists, and must not be replaced.
    case exists(JobName)
    /// The mode forbids requests to origins.
    case mode(OfflineMode)
    /// The gateway ends.
    case ending
}
