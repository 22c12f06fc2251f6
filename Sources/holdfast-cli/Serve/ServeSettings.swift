import CommandLineSupport
import Holdfast
import HoldfastGateway

/// The settings that a gateway runs with. A setting named outside of the file comes first, then the
/// file's, then the default.
struct ServeSettings: Sendable {
    let file: Configuration
    let gateway: GatewayConfiguration
    /// The routes that have a mode of their own.
    let routeModes: [RouteMode]
    /// The store's folder.
    let store: String
    /// Neither the command line nor the environment nor the file names the store.
    let isDefaultStore: Bool
    let storage: CacheManager.Configuration
    let mode: OfflineMode
    /// `nil`: one for each processor.
    let threads: Int?
    let control: ControlAddress
    let accessLog: AccessLog.Settings

    /// Where the control plane listens.
    enum ControlAddress: Sendable, Hashable {
        case nowhere
        /// In the folder that the service manager or the store has.
        case standard
        case socket(String)
    }

    /// Reads the file, if one is named.
    ///
    /// - Throws: `ConfigurationError`, `CommandFailure`
    init(_ named: NamedSettings) throws {
        let file = try named.file.map { try Configuration(contentsOf: $0) } ?? Configuration()
        guard named.origin != nil || !file.routes.isEmpty else {
            throw CommandFailure(
                "'\(named.file ?? "")' has no routes. Add 'routes' to the file, or set an origin with '--origin'."
            )
        }
        if let store = named.store ?? file.storeFolder {
            self.store = store
            isDefaultStore = false
        } else if let origin = named.origin {
            store = try named.defaultStore.path(for: origin)
            isDefaultStore = true
        } else {
            // The routes of a file may lead to several origins, and to others after a reload.
            throw CommandFailure(
                "'\(named.file ?? "")' sets no store. Set 'store.path' in the file, or use '--store'."
            )
        }
        self.file = file
        self.gateway = try GatewayConfiguration(
            file,
            routes: named.origin.map { GatewayRoutes(origin: $0) },
            listeners: named.listen.map { .address($0) }
        )
        let routes = named.origin == nil ? file.routes : []
        self.routeModes = routes.enumerated().compactMap { index, route in
            route.mode.map { RouteMode(route: route.name ?? "\(index + 1)", mode: $0) }
        }
        self.storage = CacheManager.Configuration(file.store)
        self.mode = named.mode ?? file.mode ?? .automatic
        self.threads = named.threads ?? file.threads
        var accessLog = AccessLog.Settings(file)
        if let level = named.accessLog { accessLog.level = level }
        self.accessLog = accessLog
        self.control =
            named.hasNoControl || file.control.isOff ? .nowhere : file.controlSocket.map { .socket($0) } ?? .standard
    }

    /// The file's rules; `nil` if it has none.
    var rules: RuleSet? { file.rules.isEmpty ? nil : file.rules }

    /// How long the listeners stay open after the first SIGTERM.
    ///
    /// - Parameter start: the settings at the start. They decide if a port of the control plane
    ///   shows readiness. A reload may change 'health.path'.
    func drainDelay(start: ServeSettings) -> Duration {
        if let delay = file.drainDelay { return delay }
        var known = file
        known.control = start.file.control
        return known.standardDrainDelay(isControlled: start.control != .nowhere)
    }

    /// Where the gateway listens, as a file would hold it.
    private var listening: String { Configuration.text(listeners: gateway.listeners.map(\.description)) }

    /// Whether clients may do something for which they need a token.
    var needsTokens: Bool { file.control.listen != nil || !file.clients.purgers.isEmpty }

    /// A setting that cannot change while the gateway runs, and its value in another configuration.
    struct Kept {
        var setting: String
        var kept: String
        var wanted: String
    }

    /// The settings that another configuration changes and that cannot change while the gateway
    /// runs.
    func kept(against other: ServeSettings) -> [Kept] {
        var result: [Kept] = []
        func compare(_ setting: String, _ mine: String, _ theirs: String) {
            if mine != theirs { result.append(Kept(setting: setting, kept: mine, wanted: theirs)) }
        }
        compare("listen", listening, other.listening)
        compare("store.path", store, other.store)
        compare("control.socket", "\(control)", "\(other.control)")
        if !needsTokens {
            // Tokens are read at the start. With them, the addresses may change.
            compare("clients.purgers", "none", other.file.clients.purgers.isEmpty ? "none" : "some")
        }
        compare("threads", threads.map { "\($0)" } ?? "unset", other.threads.map { "\($0)" } ?? "unset")
        let theirs = other.file.effective.settings
        for (mine, theirs) in zip(file.effective.settings, theirs)
        where Self.isKept(mine.name) {
            compare(mine.name, mine.value ?? "unset", theirs.value ?? "unset")
        }
        return result
    }

    /// Settings that are compared above under their names are left out.
    private static func isKept(_ name: String) -> Bool {
        (name.hasPrefix("store.") && name != "store.path") || (name.hasPrefix("control.") && name != "control.socket")
            || name == "metrics.listen" || name.hasPrefix("fleet.")
    }
}
