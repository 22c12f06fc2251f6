import FleetTesting
import FleetTier
import HoldfastTesting
import Synchronization

/// The engine in memory for the contract. Its time moves when a rule asks for it.
final class InMemoryEngine: FleetLogEngine {
    let engine: InMemoryLogEngine
    private let time: EngineTimer
    private let wrap: @Sendable (InMemoryFleetLog) -> any FleetLog

    /// - Parameter wrap: makes of a log one with a defect.
    init(_ wrap: @escaping @Sendable (InMemoryFleetLog) -> any FleetLog = { $0 }) {
        let time = EngineTimer()
        self.time = time
        self.wrap = wrap
        engine = InMemoryLogEngine(clock: ContinuousClock(), now: { time.now })
    }

    var faults: Set<FleetLogFault> { Set(FleetLogFault.allCases) }

    func makeLog() async throws -> any FleetLog { wrap(engine.makeLog()) }

    func passTime() async { time.pass() }

    func cause(_ fault: FleetLogFault) async throws {
        switch fault {
        case .flush: engine.flush()
        case .restart: engine.restart(keepingData: true)
        case .stall: engine.setStalled(true)
        case .evictLog: engine.evictLog()
        case .evictNames: engine.evictNames()
        case .holdReplication: engine.setReplication(.held)
        case .failOver: engine.failOver(oldPrimaryLives: false)
        case .split: engine.failOver(oldPrimaryLives: true)
        }
    }

    func end() async {}
}

/// A time that stands still until it is moved.
final class EngineTimer: Sendable {
    private let milliseconds = Mutex<Int64>(1_767_225_600_000)

    var now: EngineTime { EngineTime(milliseconds: milliseconds.withLock { $0 }) }

    func pass(_ count: Int64 = 1) { milliseconds.withLock { $0 += count } }
}
