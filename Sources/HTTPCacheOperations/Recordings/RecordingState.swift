package import HTTPCacheSemantics

/// A recording in a running gateway: one that runs, or what became of one.
package struct RecordingState: Sendable, Hashable {
    /// The end of a recording.
    package struct End: Sendable, Hashable {
        package var ending: RecordingEnding
        package var at: Timestamp
        /// Whether the job is in force. If not, an older job with the same name stays.
        package var isKept: Bool

        package init(_ ending: RecordingEnding, at: Timestamp, isKept: Bool) {
            self.ending = ending
            self.at = at
            self.isKept = isKept
        }
    }

    package var name: JobName
    /// The request of the client; `nil` if an earlier process recorded.
    package var plan: RecordingPlan?
    /// The address to which the recorded requests are sent; `nil` if there is none now.
    package var url: String?
    /// The requests that were recorded, and those that were passed on.
    package var count = JobRecording.Count()
    /// `nil` while the recording runs.
    package var end: End?

    package init(_ name: JobName, _ plan: RecordingPlan? = nil, end: End? = nil) {
        self.name = name
        self.plan = plan
        self.end = end
    }
}

/// A recording of a process that was killed.
package struct KilledRecording: Sendable, Hashable {
    package var name: JobName
    /// Whether it was in force already.
    package var isKept: Bool

    package init(_ name: JobName, isKept: Bool) {
        self.name = name
        self.isKept = isKept
    }
}
