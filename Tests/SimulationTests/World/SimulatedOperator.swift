import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging

/// Steers the cache while it works: purges, switches the mode for a time, and reloads options and
/// rules. Each change races with the callers of its step.
final class SimulatedOperator: @unchecked Sendable {
    // Unchecked: see ``World``.

    private let world: World
    private let engine: CacheEngine
    private let store: SimulatedStore
    private let modes: ModeSwitch
    private var generator: SeededGenerator
    /// The hosts that the rules in force keep offline.
    private var offlineHosts: Set<String> = []

    init(_ world: World, _ engine: CacheEngine, _ store: SimulatedStore, _ generator: SeededGenerator) {
        self.world = world
        self.engine = engine
        self.store = store
        self.generator = generator
        modes = ModeSwitch(
            engine: engine,
            store: ModeMemory(world, generator),
            clock: world.wall,
            sleeper: world.durations,
            logger: Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }

    /// The mode that applies to requests to a host from now on.
    func mode(for host: String) -> OfflineMode { offlineHosts.contains(host) ? .offline : modes.state.mode }

    /// Sometimes starts a change. The callers of this step run at the same time.
    func act() {
        if generator.chance(0.15) { purge() }
        if generator.chance(0.05) { switchMode() }
        if generator.chance(0.05) { reload() }
    }

    // MARK: Purges

    private func purge() {
        let resource = generator.pick(world.resources)
        let target = try? TargetURI(resource.uri)
        let scope: InvalidationScope
        switch generator.int(0...9) {
        case 0: scope = .all
        case 1, 2: scope = .tag("group https://\(resource.host):443 \(generator.pick(["news", "prices"]))")
        case 3, 4, 5:
            guard let target else { return }
            scope = .key(CacheKey(target: target))
        case 6:
            guard let target else { return }
            scope = .prefix(TargetPrefix(target))
        default:
            guard let target else { return }
            scope = .target(target)
        }
        let (store, now) = (store, world.wall.now())
        let keeps = generator.chance(0.7)
        Task { _ = try? await store.invalidate(scope, keepingForOffline: keeps, at: now) }
    }

    // MARK: Mode

    private func switchMode() {
        let hops = generator.int(0...10)
        let isEnd = generator.chance(0.3)
        let mode = generator.pick([OfflineMode.automatic, .online, .offline, .offline, .preferStored])
        let length = generator.int(1...120)
        Task { [self] in
            for _ in 0..<hops { await SerialThread.yield() }
            let now = world.wall.now()
            let before = modes.state
            let temporary = TemporaryMode(
                mode,
                until: now.adding(.seconds(length)),
                since: now,
                client: "simulation"
            )
            do {
                if isEnd { try await modes.end(by: "simulation") } else { try await modes.begin(temporary) }
                check(modes.state.temporary == (isEnd ? nil : temporary), "a mode is not in force when set")
            } catch {
                check(modes.state == before, "a mode that cannot be kept is in force")
            }
        }
    }

    /// The end of a mode is in force as soon as it is reached.
    func checkEnd() {
        let isOver = modes.state.temporary?.isOver(at: world.wall.now()) ?? false
        check(!isOver, "a mode outlasts its end")
    }

    /// Puts the configured mode into force, and waits no more for an end.
    func rest() async {
        while modes.state.temporary != nil { try? await modes.end(by: "simulation") }
    }

    // MARK: Reloads

    private func reload() {
        let hops = generator.int(0...10)
        var options = world.options
        options.change(&generator)
        let hosts: Set<String> = generator.chance(0.5) ? [] : [generator.pick(["a.example", "b.example"])]
        let mode = generator.pick([OfflineMode.automatic, .online, .preferStored])
        let rules: HostRules? = hosts.isEmpty && generator.chance(0.5) ? nil : HostRules(offline: hosts)
        Task { [self, options] in
            for _ in 0..<hops { await SerialThread.yield() }
            world.optionsInForce.append(options)
            offlineHosts = hosts
            engine.reconfigure(options: options, rules: rules)
            modes.configure(mode)
        }
    }

    private func check(_ isTrue: Bool, _ what: String) {
        if !isTrue { world.violations.append("operator: \(what)") }
    }

    /// Keeps the mode, or fails by chance.
    private final class ModeMemory: ModeStore, @unchecked Sendable {
        // Unchecked: see ``World``.
        private let world: World
        private var generator: SeededGenerator
        private var kept: TemporaryMode?

        init(_ world: World, _ generator: SeededGenerator) {
            self.world = world
            self.generator = generator
        }

        func temporaryMode() -> TemporaryMode? { kept }

        func keep(_ mode: TemporaryMode?) throws {
            if !world.isCalm, generator.chance(world.configuration.storeFaults) { throw SimulatedStore.Fault() }
            kept = mode
        }
    }

    /// Keeps some hosts offline.
    private struct HostRules: ExchangeRules {
        let offline: Set<String>
        private let none = RequestRules()
        private let offlineRules: RequestRules

        init(offline: Set<String>) {
            self.offline = offline
            var settings = ExchangeSettings()
            settings.mode = .offline
            offlineRules = RequestRules(settings: settings)
        }

        func rules(for request: HTTPRequest) -> RequestRules {
            offline.contains(request.authority ?? "") ? offlineRules : none
        }

        func decisions(for request: HTTPRequest, contentType: String?) -> [RuleDecision] { [] }
    }
}
