import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging

/// Steers the cache while it works: purges, switches the mode and extends staleness for a time, and
/// reloads options and rules. Each change races with the callers of its step.
final class SimulatedOperator: @unchecked Sendable {
    // Unchecked: see ``World``.

    private let world: World
    private let engine: CacheEngine
    private let store: SimulatedStore
    private let modes: ModeSwitch
    private let staleness: StalenessSwitch
    private var generator: SeededRandom
    /// The hosts that the rules in force keep offline.
    private var offlineHosts: Set<String> = []

    init(_ world: World, _ engine: CacheEngine, _ store: SimulatedStore, _ generator: SeededRandom) {
        self.world = world
        self.engine = engine
        self.store = store
        self.generator = generator
        let memory = SettingMemory(world, generator)
        let logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
        modes = ModeSwitch(
            engine: engine,
            store: memory,
            clock: world.wall,
            sleeper: world.durations,
            logger: logger
        )
        staleness = StalenessSwitch(
            engine: engine,
            store: memory,
            clock: world.wall,
            sleeper: world.durations,
            logger: logger
        )
    }

    /// The mode that applies to requests to a host from now on.
    func mode(for host: String) -> OfflineMode { offlineHosts.contains(host) ? .offline : modes.state.value }

    /// The extension of staleness, in seconds, that applies to requests from now on.
    var extendedStaleness: Int64 { staleness.state.value.seconds }

    /// Sometimes starts a change. The callers of this step run at the same time.
    func act() {
        if generator.chance(0.15) { purge() }
        if generator.chance(0.05) {
            set(modes, generator.pick([OfflineMode.automatic, .online, .offline, .offline, .preferStored]))
        }
        if generator.chance(0.05) { set(staleness, StalenessExtension(seconds: Int64(generator.int(1...60)))) }
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
            scope = .key(StoreKey(target: target))
        case 6:
            guard let target else { return }
            scope = .prefix(TargetPrefix(target))
        case 7: scope = .principal("alice")
        default:
            guard let target else { return }
            scope = .target(target)
        }
        let (store, now) = (store, world.wall.now())
        let keeps = generator.chance(0.7)
        Task { _ = try? await store.invalidate(scope, keepingForOffline: keeps, at: now) }
    }

    // MARK: Settings for a time

    private func set<Value>(_ setting: TemporarySwitch<Value>, _ value: Value) {
        let hops = generator.int(0...10)
        let isEnd = generator.chance(0.3)
        let length = generator.int(1...120)
        Task { [self] in
            for _ in 0..<hops { await SerialThread.yield() }
            let now = world.wall.now()
            let before = setting.state
            let temporary = Temporary(
                value,
                until: now.adding(.seconds(length)),
                since: now,
                client: "simulation"
            )
            do {
                if isEnd { try await setting.end(by: "simulation") } else { try await setting.begin(temporary) }
                let isAsSet = setting.state.temporary == (isEnd ? nil : temporary)
                check(isAsSet, "a \(Value.settingName) is not in force when set")
            } catch {
                check(setting.state == before, "a \(Value.settingName) that cannot be kept is in force")
            }
        }
    }

    /// The end of a setting is in force as soon as it is reached.
    func checkEnd() {
        let now = world.wall.now()
        check(modes.state.temporary?.isOver(at: now) != true, "a mode outlasts its end")
        check(staleness.state.temporary?.isOver(at: now) != true, "a staleness outlasts its end")
    }

    /// Puts the configured values into force, and waits no more for an end.
    func rest() async {
        while modes.state.temporary != nil { try? await modes.end(by: "simulation") }
        while staleness.state.temporary != nil { try? await staleness.end(by: "simulation") }
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

    /// Keeps settings, or fails by chance.
    private final class SettingMemory: TemporaryStore, @unchecked Sendable {
        // Unchecked: see ``World``.
        private let world: World
        private var generator: SeededRandom
        private var kept: [String: any Sendable] = [:]

        init(_ world: World, _ generator: SeededRandom) {
            self.world = world
            self.generator = generator
        }

        func temporary<Value>(_: Value.Type) -> Temporary<Value>? { kept[Value.settingName] as? Temporary<Value> }

        func keep<Value>(_ temporary: Temporary<Value>) throws {
            try failSometimes()
            kept[Value.settingName] = temporary
        }

        func forget<Value: KeptValue>(_: Value.Type) throws {
            try failSometimes()
            kept[Value.settingName] = nil
        }

        private func failSometimes() throws {
            if !world.isCalm, generator.chance(world.configuration.storeFaults) { throw SimulatedStore.Fault() }
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
