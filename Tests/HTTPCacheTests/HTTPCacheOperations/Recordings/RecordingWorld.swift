import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import Synchronization
import Testing

@testable import HTTPCacheOperations

/// A keeper of recordings with a store of the test, manual clocks, and addresses without sockets.
struct RecordingWorld {
    let store = RecordedJobs()
    let addresses = Addresses()
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    let mode = Mutexed(OfflineMode.automatic)
    let clientsUseTLS = Mutexed(false)
    let keeper: RecordingKeeper

    init() {
        let random = Mutexed(SeededRandom(seed: 1))
        let parts = RecordingKeeper.Parts(
            store: store,
            clock: clock,
            sleeper: sleeper,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            mode: { [mode] in mode.value },
            statesHTTPS: { [clientsUseTLS] in clientsUseTLS.value },
            makePartition: { random.change { JobPartition(using: &$0) } },
            open: { [addresses] run, observe in try addresses.open(run, observe) }
        )
        keeper = RecordingKeeper(parts)
    }

    func plan(_ name: String = "deps", for seconds: Int64 = 60) throws -> RecordingPlan {
        let now = clock.now()
        let until = now.adding(.seconds(seconds))
        return RecordingPlan(try #require(JobName(name)), since: now, until: until, client: "uid 1")
    }

    /// Moves both clocks. The keeper reads the wall clock at least every 30 s.
    func advance(by seconds: Int64) async {
        await sleeper.sleepers(atLeast: 1)
        clock.advance(by: .seconds(seconds))
        sleeper.advance(by: .seconds(min(seconds, 30)))
    }

    /// The end of the only recording.
    func end() async -> RecordingState.End {
        while true {
            if let end = await keeper.recordings.last?.end { return end }
            await Task.yield()
        }
    }

    static func exchange(_ ordinal: UInt64, at path: String = "/x") throws -> JobExchange {
        let target = try TargetURI("https://a.example\(path)")
        return JobExchange(ordinal: ordinal, request: JobRequest(method: .get, target: target), ending: .kept)
    }
}

/// A value that several tasks use.
final class Mutexed<Value: Sendable>: Sendable {
    private let state: Mutex<Value>
    init(_ value: Value) { state = Mutex(value) }
    var value: Value {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
    func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { state.withLock { body(&$0) } }
}

/// The open addresses, by partition.
final class Addresses: Sendable {
    struct Failure: Error {}

    private let observers = Mutex<[String: @Sendable (JobExchange) -> Void]>([:])
    private let uses = Mutex<[String: JobRun.Use]>([:])
    let fails = Mutexed(false)
    /// For each address that was closed, whether its last responses were to be stored.
    let ends = Mutexed<[Bool]>([])

    var openCount: Int { observers.withLock { $0.count } }

    func open(
        _ run: JobRun,
        _ observe: @escaping @Sendable (JobExchange) -> Void
    ) throws -> RecordingKeeper.Address {
        if fails.value { throw Failure() }
        observers.withLock { $0[run.partition] = observe }
        uses.withLock { $0[run.partition] = run.use }
        return RecordingKeeper.Address("http://127.0.0.1/\(run.partition)") { [self] storesAll in
            observers.withLock { $0[run.partition] = nil }
            ends.change { $0.append(storesAll) }
        }
    }

    /// Reports an exchange at an address.
    func take(_ exchange: JobExchange, at url: String?) {
        observers.withLock { $0[partition(of: url)] }?(exchange)
    }

    /// Returns the use with which an address was opened.
    func use(at url: String?) -> JobRun.Use? { uses.withLock { $0[partition(of: url)] } }

    private func partition(of url: String?) -> String { url?.split(separator: "/").last.map(String.init) ?? "" }
}

/// The jobs of a store, in memory.
final class RecordedJobs: RecordingStore {
    struct Full: Error {}

    struct State: Sendable {
        var jobs: [JobName: (header: JobFile.Header, entries: [JobFile.Entry])] = [:]
        var marks: [JobName: JobPartition] = [:]
        var killed: [KilledRecording] = []
        /// Whether keeping a job fails before or after its rename.
        var failsBefore = false
        var failsAfter = false
    }

    private let state = Mutex(State())

    var value: State { state.withLock { $0 } }
    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    func partition(of name: JobName) throws -> JobPartition? { value.jobs[name]?.header.partition }

    func endKilledRecordings(at now: Timestamp) async throws -> [KilledRecording] { value.killed }

    func beginRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws {
        change { $0.marks[name] = partition }
    }

    func keep(_ header: JobFile.Header, _ entries: [JobFile.Entry], at now: Timestamp) async throws {
        if value.failsBefore { throw Full() }
        change { $0.jobs[header.name] = (header, entries) }
        if value.failsAfter { throw Full() }
        change { $0.marks[header.name] = nil }
    }

    func discardRecording(_ name: JobName, in partition: JobPartition, at now: Timestamp) async throws {
        change { $0.marks[name] = nil }
    }
}
