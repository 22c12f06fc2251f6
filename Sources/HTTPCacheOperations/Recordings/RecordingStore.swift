package import HTTPCacheSemantics

/// The jobs of a store, as far as recordings change them.
package protocol RecordingStore: Sendable {
    /// Returns the partition of a job; `nil` if there is no such job.
    func partition(of name: JobName) throws -> JobPartition?

    /// Removes the responses of recordings whose processes were killed. No recording may be
    /// running.
    func endKilledRecordings(at now: Timestamp) async throws -> [KilledRecording]

    /// Begins a recording.
    func beginRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws

    /// Ends a recording: its job replaces the job with the same name.
    func keep(_ header: JobFile.Header, _ entries: [JobFile.Entry], at now: Timestamp) async throws

    /// Ends a recording without a job. A job with the same name stays.
    func discardRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws
}
