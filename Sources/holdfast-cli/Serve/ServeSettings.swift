import CommandLineSupport
import HTTPCacheOperations
import Holdfast
import HoldfastConfiguration
import HoldfastGateway

/// The settings that a gateway runs with. A setting from outside the file takes precedence over the
/// file, and the file over the default.
struct ServeSettings: Sendable {
    let file: Configuration
    let gateway: GatewayConfiguration
    /// The routes with their own mode.
    let routeModes: [RouteMode]
    /// The store's folder.
    let store: String
    /// Whether neither the command line, the environment nor the file specifies the store.
    let isDefaultStore: Bool
    let storage: CacheManager.Configuration
    private(set) var mode: OfflineMode
    /// The number of threads; `nil` uses one per processor.
    let threads: Int?
    let control: ControlAddress
    private(set) var accessLog: AccessLog.Settings
    /// The proxy of a command; `nil` for a gateway with routes.
    var proxy: ProxySettings?

    /// The address of the control plane.
    enum ControlAddress: Sendable, Hashable {
        case nowhere
        /// In the folder of the service manager or the store.
        case standard
        case socket(String)
    }

    /// Reads the file, if one is given.
    ///
    /// - Parameters:
    ///   - previous: the settings in force, if the file is read again. The content of other files
    ///     stays in use if they cannot be used.
    ///   - job: the use of the gateway for one job; `nil` for a gateway that serves.
    /// - Throws: `ConfigurationError`, `CommandFailure`
    init(_ named: NamedSettings, since previous: ServeSettings? = nil, for job: JobGateway.Use? = nil) throws {
        let file = try named.file.map { path in
            // A replay sends nothing, so it needs no secrets that rules add to requests.
            if job == .replaying { return try Configuration(withoutValuesOf: path) }
            guard let previous else { return try Configuration(contentsOf: path) }
            return try Configuration(contentsOf: path, since: previous.file)
        }
        try self.init(named, file: file ?? Configuration(), for: job)
    }

    /// Creates settings from a file that was read.
    ///
    /// - Throws: `ConfigurationError`, `CommandFailure`
    init(_ named: NamedSettings, file: Configuration, for job: JobGateway.Use? = nil) throws {
        // Without routes, the requests of a command go to the origins that they name.
        let forwards = job != nil && named.origin == nil && file.routeCount == 0
        proxy = forwards ? ProxySettings() : nil
        guard forwards || named.origin != nil || file.isForGateway else {
            throw CommandFailure(
                "'\(named.file ?? "")' has no routes. Add 'routes' or 'forward-proxy' to the file, or set an origin with '--origin'."
            )
        }
        if let store = named.store ?? file.storeFolder {
            self.store = store
            isDefaultStore = false
        } else if let origin = named.origin {
            store = try named.defaultStore.path(for: origin)
            isDefaultStore = true
        } else if forwards {
            store = try named.defaultStore.pathOfJobs
            isDefaultStore = true
        } else {
            // The routes in a file may lead to several origins, and to others after a reload.
            throw CommandFailure(
                "'\(named.file ?? "")' sets no store. Set 'store.path' in the file, or use '--store'."
            )
        }
        self.file = file
        self.gateway = try GatewayConfiguration(
            file,
            routes: forwards
                ? GatewayRoutes.forwarding(upgrades: job == nil ? [] : ["websocket"])
                : named.origin.map { GatewayRoutes(origin: $0) },
            listeners: named.listen.map { .address($0) },
            isForJob: job != nil
        )
        let collisions = file.resolvedCollisions(of: gateway.listeners, areReplaced: !named.listen.isEmpty)
        guard collisions.isEmpty else { throw ConfigurationError(collisions) }
        let routes = named.origin == nil ? file.routes : []
        self.routeModes = routes.enumerated().compactMap { index, route in
            route.mode.map { RouteMode(route: route.name ?? "\(route.number ?? index + 1)", mode: $0) }
        }
        var storage = CacheManager.Configuration(file.store)
        storage.refillsMemory = true
        self.storage = storage
        self.mode = named.mode ?? file.mode ?? .automatic
        self.threads = named.threads ?? file.threads
        var accessLog = AccessLog.Settings(file)
        if let level = named.accessLog { accessLog.level = level }
        self.accessLog = accessLog
        self.control =
            named.hasNoControl || file.control.isOff ? .nowhere : file.controlSocket.map { .socket($0) } ?? .standard
    }

    /// The same settings for a recording next to the gateway: the origins are contacted, and the
    /// access log has only the gateway's own requests.
    var forRecording: ServeSettings {
        var result = self
        result.mode = .automatic
        result.accessLog.level = .off
        return result
    }

    /// The file's rules; `nil` if it has none.
    var rules: RuleSet? { file.rules.isEmpty ? nil : file.rules }

    /// Returns the time for which the listeners stay open after the first SIGTERM.
    ///
    /// - Parameter start: the settings at startup. They determine whether readiness is available on
    ///   a port of the control plane. A reload may change 'health.path'.
    func drainDelay(start: ServeSettings) -> Duration {
        if let delay = file.drainDelay { return delay }
        var known = file
        known.control = start.file.control
        return known.standardDrainDelay(isControlled: start.control != .nowhere)
    }

    /// The listeners as written in a file.
    private var listening: String { Configuration.text(listeners: gateway.listeners.map(\.description)) }

    /// The files that a reload rereads. Files that are used only together are in one group.
    var rereadFiles: [[String]] { file.rereadFiles + TokenFiles(file, store: store).paths.map { [$0] } }

    /// A setting that cannot change while the gateway runs, and its value in another configuration.
    struct Kept {
        var setting: String
        var kept: String
        var wanted: String
    }

    /// Returns the settings that another configuration changes but that cannot change while the
    /// gateway runs.
    func kept(against other: ServeSettings) -> [Kept] {
        var result: [Kept] = []
        func compare(_ setting: String, _ mine: String, _ theirs: String) {
            if mine != theirs {
                let (kept, wanted) = (file.reference(in: setting), other.file.reference(in: setting))
                result.append(Kept(setting: setting, kept: kept ?? mine, wanted: wanted ?? theirs))
            }
        }
        compare("listen", listening, other.listening)
        compare("store.path", store, other.store)
        compare("control.socket", "\(control)", "\(other.control)")
        if !TokenFiles.areNeeded(by: file) {
            // Tokens are read at startup. If there are tokens, the addresses may change.
            compare("clients.purgers", "none", other.file.clients.purgers.isEmpty ? "none" : "some")
        }
        compare("threads", threads.map { "\($0)" } ?? "unset", other.threads.map { "\($0)" } ?? "unset")
        let theirs = other.file.effective.settings
        for (mine, theirs) in zip(file.effective.settings, theirs)
        where Self.isKept(mine.name) && !file.hasSameValue(mine.name, as: other.file) {
            compare(mine.name, mine.value ?? "unset", theirs.value ?? "unset")
        }
        return result
    }

    /// Returns whether a setting cannot change while the gateway runs. Excludes the settings that
    /// are compared by name above.
    private static func isKept(_ name: String) -> Bool {
        (name.hasPrefix("store.") && name != "store.path") || (name.hasPrefix("control.") && name != "control.socket")
            || name.hasPrefix("metrics.") || name.hasPrefix("fleet.")
    }
}
