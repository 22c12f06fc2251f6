import HTTPCache
import HTTPCacheSemantics
import Synchronization

/// A recording in progress. Event loops report exchanges to it, and the first of its endings
/// counts.
final class RunningRecording: Sendable {
    let plan: RecordingPlan
    let partition: JobPartition
    /// See ``JobRun/Use/statesHTTPS``.
    private let statesHTTPS: Bool
    private let recording: Mutex<JobRecording>
    private let endings: AsyncStream<RecordingEnding>
    private let continuation: AsyncStream<RecordingEnding>.Continuation

    init(_ plan: RecordingPlan, in partition: JobPartition, statesHTTPS: Bool) {
        self.plan = plan
        self.partition = partition
        self.statesHTTPS = statesHTTPS
        recording = Mutex(JobRecording(publicParameters: plan.publicParameters, limits: plan.limits))
        (endings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// The first line of the job's file, before the first request.
    var header: JobFile.Header {
        var header = plan.header(partition)
        header.statesHTTPS = statesHTTPS
        return header
    }

    /// The job for the engine.
    var run: JobRun {
        var use = header.use
        use.comparesIdentities = true
        return JobRun(partition: partition.description, use)
    }

    /// The requests that were recorded until now.
    var recorded: JobRecording { recording.withLock { $0 } }
    var count: JobRecording.Count { recording.withLock { $0.count } }

    /// Takes an exchange. A limit ends the recording.
    func take(_ exchange: JobExchange) {
        let exceeded = recording.withLock { recording in
            recording.take(exchange)
            return recording.exceeded
        }
        if let exceeded { end(.limit(exceeded)) }
    }

    /// Ends the recording, unless it has ended.
    func end(_ ending: RecordingEnding) { continuation.yield(ending) }

    /// Waits for the first ending. Call it once.
    func firstEnding() async -> RecordingEnding {
        for await ending in endings { return ending }
        // The stream has no other end than the task's.
        return .shutDown
    }

    /// Returns the ending that counts after the last request: a limit that was exceeded in the
    /// meantime makes the job incomplete.
    func final(_ ending: RecordingEnding) -> RecordingEnding {
        guard ending.keepsJob(of: plan), let exceeded = recorded.exceeded else { return ending }
        return .limit(exceeded)
    }
}
