import FleetTesting
import FleetTier
import HoldfastTesting
import NIOCore

/// The engine in memory for the contract. Its time moves when a rule asks for it.
final class InMemoryValuesEngine: FleetValuesEngine {
    let engine: InMemoryValueEngine
    let time: EngineTimer
    private let wrap: @Sendable (InMemoryFleetValues, InMemoryValueEngine) -> any FleetValues

    /// - Parameter wrap: makes of a node's values some with a defect.
    init(
        _ wrap: @escaping @Sendable (InMemoryFleetValues, InMemoryValueEngine) -> any FleetValues = { values, _ in
            values
        }
    ) {
        let time = EngineTimer()
        self.time = time
        self.wrap = wrap
        engine = InMemoryValueEngine(clock: ContinuousClock(), now: { time.now })
    }

    var faults: Set<FleetValuesFault> { Set(FleetValuesFault.allCases) }

    func makeValues() async throws -> any FleetValues { wrap(engine.makeValues(), engine) }

    func now() async throws -> EngineTime { time.now }

    func passTime() async {
        time.pass()
        await Task.yield()
    }

    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws { engine.plant(bytes, as: name) }

    func cause(_ fault: FleetValuesFault) async throws {
        switch fault {
        case .flush, .restart: engine.flush()
        case .stall: engine.setDelay(.seconds(86_400))
        case .fill: engine.setMemory(.full)
        }
    }

    func end() async {}
}
