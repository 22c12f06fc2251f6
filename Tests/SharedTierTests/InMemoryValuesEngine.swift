import HoldfastTesting
import NIOCore
import SharedTier

/// The engine in memory for the contract. Its time moves when a rule asks for it.
final class InMemoryValuesEngine: SharedValuesEngine {
    let engine: InMemoryValueEngine
    let time: EngineTimer
    private let wrap: @Sendable (InMemorySharedValues, InMemoryValueEngine) -> any SharedValues

    /// - Parameter wrap: makes of a node's values some with a defect.
    init(
        _ wrap: @escaping @Sendable (InMemorySharedValues, InMemoryValueEngine) -> any SharedValues = { values, _ in
            values
        }
    ) {
        let time = EngineTimer()
        self.time = time
        self.wrap = wrap
        engine = InMemoryValueEngine(clock: ContinuousClock(), now: { time.now })
    }

    var faults: Set<SharedValuesFault> { Set(SharedValuesFault.allCases) }

    func makeValues() async throws -> any SharedValues { wrap(engine.makeValues(), engine) }

    func now() async throws -> EngineTime { time.now }

    func passTime() async {
        time.pass()
        await Task.yield()
    }

    func plant(_ bytes: ByteBuffer, as name: ValueName) async throws { engine.plant(bytes, as: name) }

    func cause(_ fault: SharedValuesFault) async throws {
        switch fault {
        case .flush, .restart: engine.flush()
        case .stall: engine.setDelay(.seconds(86_400))
        case .fill: engine.setMemory(.full)
        }
    }

    func end() async {}
}
