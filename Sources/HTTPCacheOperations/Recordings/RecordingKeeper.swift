package import HTTPCache
import HTTPCacheSemantics
package import Logging

/// The recordings of a running gateway. Each has an engine and an address of its own, so that it
/// records the requests that are sent there and no others.
///
/// A recording ends by itself, and its job is in force after one rename of the store. So a process
/// that is killed leaves the old job or none, and the next process removes what is left.
package actor RecordingKeeper: RecordingOperations {
    /// An open address at which requests are recorded.
    package struct Address: Sendable {
        package var url: String
        private let end: @Sendable (_ storesAll: Bool) async -> Void

        /// - Parameter close: see ``close(storesAll:)``.
        package init(_ url: String, close: @escaping @Sendable (_ storesAll: Bool) async -> Void) {
            self.url = url
            end = close
        }

        /// Closes the address. Returns when its last exchange has ended.
        ///
        /// - Parameter storesAll: whether to wait until responses that no client reads anymore are
        ///   stored. This can take seconds.
        package func close(storesAll: Bool) async { await end(storesAll) }
    }

    /// The parts on which recordings depend.
    package struct Parts: Sendable {
        package var store: any RecordingStore
        /// Opens the address of a job. The closure is called with each of its exchanges.
        package var open: @Sendable (JobRun, @escaping @Sendable (JobExchange) -> Void) async throws -> Address
        /// The mode of the gateway.
        package var mode: @Sendable () -> OfflineMode
        /// Returns whether all clients of the gateway use TLS, so that its requests state https.
        package var statesHTTPS: @Sendable () -> Bool
        package var makePartition: @Sendable () -> JobPartition
        package var clock: any WallClock
        package var sleeper: any Clock<Duration>
        package var logger: Logger

        package init(
            store: any RecordingStore,
            clock: any WallClock,
            sleeper: any Clock<Duration>,
            logger: Logger,
            mode: @escaping @Sendable () -> OfflineMode,
            statesHTTPS: @escaping @Sendable () -> Bool,
            makePartition: @escaping @Sendable () -> JobPartition,
            open: @escaping @Sendable (JobRun, @escaping @Sendable (JobExchange) -> Void) async throws -> Address
        ) {
            self.store = store
            self.clock = clock
            self.sleeper = sleeper
            self.logger = logger
            self.mode = mode
            self.statesHTTPS = statesHTTPS
            self.makePartition = makePartition
            self.open = open
        }
    }

    private struct Running {
        let recording: RunningRecording
        let opening: Task<Address, any Error>
        let ending: Task<RecordingState, Never>
        var url: String?
    }

    /// The number of ended recordings that are remembered.
    package static let endedLimit = 100
    /// The maximum pause until the wall clock is read again, because the clock may be set while the
    /// timer sleeps.
    private static let longestPause = Duration.seconds(30)

    private let parts: Parts
    private var running: [JobName: Running] = [:]
    private var ended: [RecordingState] = []
    private var restoring: Task<Void, Never>?
    private var isClosed = false

    package init(_ parts: Parts) { self.parts = parts }

    package var recordings: [RecordingState] {
        let now = running.values.sorted { $0.recording.plan.name < $1.recording.plan.name }.map { running in
            var state = RecordingState(running.recording.plan.name, running.recording.plan)
            state.url = running.url
            state.count = running.recording.count
            return state
        }
        return now + ended.reversed()
    }

    /// Removes what the recordings of killed processes left, and reports what became of each.
    package func restore() async {
        if restoring == nil { restoring = Task { await endKilled() } }
        await restoring?.value
    }

    private func endKilled() async {
        do {
            for killed in try await parts.store.endKilledRecordings(at: parts.clock.now()) {
                let end = RecordingState.End(.killed, at: parts.clock.now(), isKept: killed.isKept)
                finish(RecordingState(killed.name, end: end))
            }
        } catch {
            parts.logger.error("Recordings of an earlier process were not removed", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Beginning

    package func begin(_ plan: RecordingPlan) async throws -> RecordingState {
        // Its marks would be taken for those of a killed process.
        await restore()
        try admit(plan)
        let recording = RunningRecording(plan, in: parts.makePartition(), statesHTTPS: parts.statesHTTPS())
        // The tasks belong to the keeper, not to the request that began the recording.
        let opening = Task { try await open(recording) }
        let ending = Task { await run(recording, opening) }
        running[plan.name] = Running(recording: recording, opening: opening, ending: ending)
        let address = try await opening.value
        // It may have ended already, and another one have begun.
        if running[plan.name]?.recording === recording { running[plan.name]?.url = address.url }
        var state = RecordingState(plan.name, plan)
        state.url = address.url
        parts.logger.notice("Recording began", metadata: Self.metadata(state))
        return state
    }

    private func admit(_ plan: RecordingPlan) throws {
        guard !isClosed else { throw RecordingRefusal.ending }
        let mode = parts.mode()
        guard mode != .offline else { throw RecordingRefusal.mode(mode) }
        guard running[plan.name] == nil else { throw RecordingRefusal.running(plan.name) }
        guard running.count < RecordingPlan.limit else { throw RecordingRefusal.tooMany(limit: RecordingPlan.limit) }
        guard try plan.replaces || parts.store.partition(of: plan.name) == nil else {
            throw RecordingRefusal.exists(plan.name)
        }
    }

    private func open(_ recording: RunningRecording) async throws -> Address {
        let (name, partition) = (recording.plan.name, recording.partition)
        try await parts.store.beginRecording(name, in: partition, at: parts.clock.now())
        do {
            return try await parts.open(recording.run) { recording.take($0) }
        } catch {
            try? await parts.store.discardRecording(name, in: partition, at: parts.clock.now())
            throw error
        }
    }

    // MARK: Ending

    private func run(_ recording: RunningRecording, _ opening: Task<Address, any Error>) async -> RecordingState {
        let name = recording.plan.name
        let address: Address
        do {
            address = try await opening.value
        } catch {
            running[name] = nil
            let end = RecordingState.End(.failure("\(error)"), at: parts.clock.now(), isKept: false)
            return RecordingState(name, recording.plan, end: end)
        }
        let timer = Task { await expire(recording) }
        let first = await recording.firstEnding()
        timer.cancel()
        await address.close(storesAll: first.keepsJob(of: recording.plan))
        var state = RecordingState(name, recording.plan)
        state.end = await settle(recording, recording.final(first))
        state.count = recording.count
        running[name] = nil
        finish(state)
        return state
    }

    private nonisolated func expire(_ recording: RunningRecording) async {
        let until = recording.plan.until
        while true {
            let left = until.milliseconds(since: parts.clock.now())
            guard left > 0 else { return recording.end(.time) }
            let pause = min(.milliseconds(left), Self.longestPause)
            guard (try? await parts.sleeper.sleep(for: pause)) != nil else { return }
        }
    }

    /// Puts the job in force, or removes its responses.
    private func settle(_ recording: RunningRecording, _ ending: RecordingEnding) async -> RecordingState.End {
        let (plan, partition) = (recording.plan, recording.partition)
        var end = RecordingState.End(ending, at: parts.clock.now(), isKept: false)
        // The next process removes the responses, so that this one ends soon.
        if ending == .shutDown { return end }
        do {
            if ending.keepsJob(of: plan) {
                let recorded = recording.recorded
                let header = recorded.completing(recording.header)
                try await parts.store.keep(header, recorded.entries, at: end.at)
                end.isKept = true
            } else {
                try await parts.store.discardRecording(plan.name, in: partition, at: end.at)
            }
        } catch {
            // The rename decides, whatever failed after it.
            end.isKept = (try? parts.store.partition(of: plan.name)) == partition
            end.ending = .failure("\(error)")
        }
        return end
    }

    package func end(_ name: JobName, keeps: Bool, by client: String) async -> RecordingState? {
        guard let running = running[name] else { return nil }
        parts.logger.info(
            "Recording is being ended",
            metadata: ["recording.name": "\(name)", "control.client": "\(client)"]
        )
        running.recording.end(.client(keeps: keeps))
        return await running.ending.value
    }

    package func close() async {
        isClosed = true
        await restoring?.value
        let running = Array(running.values)
        for one in running { one.recording.end(.shutDown) }
        for one in running { _ = await one.ending.value }
    }

    private func finish(_ state: RecordingState) {
        ended.append(state)
        if ended.count > Self.endedLimit { ended.removeFirst() }
        var metadata = Self.metadata(state)
        switch state.end?.ending {
        case .failure(let failure):
            metadata["error"] = "\(failure)"
            parts.logger.error("Recording failed", metadata: metadata)
        case .killed where state.end?.isKept == false:
            parts.logger.warning("Recording was lost with an earlier process", metadata: metadata)
        default: parts.logger.notice("Recording ended", metadata: metadata)
        }
    }

    private static func metadata(_ state: RecordingState) -> Logger.Metadata {
        var metadata: Logger.Metadata = [
            "recording.name": "\(state.name)", "recording.requests": "\(state.count.requests)",
        ]
        if let plan = state.plan {
            metadata["control.client"] = "\(plan.client)"
            metadata["recording.until"] = "\(plan.until.rfc3339)"
            metadata["recording.reason"] = plan.reason.map { "\($0)" }
        }
        if let end = state.end {
            metadata["recording.ended_by"] = "\(end.ending.word)"
            metadata["recording.kept"] = "\(end.isKept)"
        }
        return metadata
    }
}
