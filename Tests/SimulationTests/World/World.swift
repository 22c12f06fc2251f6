import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore

/// Everything around the engine: clocks, the origins' state, and a log of all events.
///
/// Its ticks number every event of a run, so that "before" and "after" are always defined.
final class World: @unchecked Sendable {
    // Unchecked: it is used only on the simulation's one thread (``SerialThread``).

    let wall = ManualClock()
    let durations = ManualDurationClock()
    let configuration: Configuration
    /// The options of the engine, in the order in which they came into force.
    var optionsInForce: [EngineOptions]
    var resources: [Resource] = []
    var log: [OriginEntry] = []
    var invalidations: [Invalidation] = []
    var calls: [Call] = []
    /// Instants by their text, as the origins wrote them: seconds since 1970.
    var dates: [String: Int64] = [:]
    var violations: [String] = []
    /// Hosts that cannot be reached now.
    var unreachable: Set<String> = []
    /// Targets whose responses wait until the gate opens.
    var held: [Int: Gate] = [:]
    /// Nothing goes wrong by chance.
    var isCalm = false
    var storeFaultTicks: [Int] = []
    var isShutDown = false
    var quiescentTick = 0
    private(set) var tick = 0
    /// Milliseconds since the beginning; unlike the wall clock it never goes back.
    private(set) var elapsed: Int64 = 0
    private var bytes: [Representation: ByteBuffer] = [:]

    init(_ configuration: Configuration) {
        self.configuration = configuration
        optionsInForce = [configuration.options]
    }

    /// The options that are in force now.
    var options: EngineOptions { optionsInForce[optionsInForce.count - 1] }

    func nextTick() -> Int {
        precondition(SerialThread.isCurrent, "A task of the simulation left its thread.")
        tick += 1
        return tick
    }

    /// A representation's bytes, made once: the bytes that the origin sends and the oracle
    /// compares.
    func bytes(of representation: Representation) -> ByteBuffer {
        if let known = bytes[representation] { return known }
        let made = representation.bytes
        bytes[representation] = made
        return made
    }

    var now: Int64 { wall.now().milliseconds }

    func text(_ seconds: Int64) -> String {
        let text = dateText(seconds)
        dates[text] = seconds
        return text
    }

    /// Moves both clocks.
    func advance(by duration: Duration) {
        wall.advance(by: duration)
        elapsed += duration.milliseconds
        durations.advance(by: duration)
    }
}

/// The settings of the engine and its surroundings, drawn from a seed.
struct Configuration: Sendable {
    var kind: CacheKind
    var mode: OfflineMode
    var options: EngineOptions
    /// How often an origin misbehaves, and a store's operation fails.
    var originFaults: Double
    var storeFaults: Double
    var slowness: Double
    var order: SerialThread.Order
    var setsClockBack: Bool
    var shutsDownEarly: Bool

    init(_ generator: inout SeededRandom) {
        kind = generator.chance(0.5) ? .shared : .private
        mode = generator.pick([.automatic, .automatic, .online, .preferStored])
        originFaults = generator.pick([0, 0.05, 0.2])
        storeFaults = generator.pick([0, 0, 0.05, 0.3])
        slowness = generator.pick([0, 0.1, 0.5])
        order = generator.chance(0.3) ? .first : .any
        setsClockBack = generator.chance(0.15)
        shutsDownEarly = generator.chance(0.15)
        options = EngineOptions()
        options.change(&generator)
        options.breaker.failureThreshold = generator.int(1...3)
        options.usesCacheGroups = generator.chance(0.8)
    }
}

extension EngineOptions {
    /// Draws the options that a reload may change.
    mutating func change(_ generator: inout SeededRandom) {
        softTimeout = generator.pick([nil, nil, .milliseconds(200), .seconds(2)])
        hardTimeout = generator.pick([.seconds(60), .seconds(5)])
        eagerRefresh = generator.pick([nil, nil, 0.5])
        failureThrottle = generator.pick([.zero, .seconds(1), .seconds(5)])
        inFlightLimit = generator.pick([1, 2, 8, 256])
        waitingLimit = generator.pick([3, 4096, 4096])
        goodDataGuard = nil
        if generator.chance(0.3) {
            var guardian = GoodDataGuard()
            guardian.refusesEmpty = generator.chance(0.7)
            goodDataGuard = guardian
        }
    }
}
