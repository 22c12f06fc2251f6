import CommandLineSupport
import Holdfast
import HoldfastGateway

/// What a gateway is run with: what is named outside of the file, else what the file says, else the
/// default.
struct ServeSettings: Sendable {
    let file: Configuration
    let gateway: GatewayConfiguration
    let store: String
    let storage: CacheManager.Configuration
    let mode: OfflineMode
    /// `nil`: as many as there are processors.
    let threads: Int?

    /// Reads the file, where one is named.
    ///
    /// - Throws: `ConfigurationError`, `CommandFailure`
    init(_ named: NamedSettings) throws {
        let file = try named.file.map { try Configuration(contentsOf: $0) } ?? Configuration()
        guard named.origin != nil || !file.routes.isEmpty else {
            throw CommandFailure(
                "'\(named.file ?? "")' names no routes. Name them there, or one origin with '--origin'."
            )
        }
        guard let store = named.store ?? file.storeFolder else {
            throw CommandFailure(
                "'\(named.file ?? "")' names no store. Name its folder there (store.path), or with '--store'."
            )
        }
        self.file = file
        self.gateway = try GatewayConfiguration(
            file,
            routes: named.origin.map { GatewayRoutes(origin: $0) },
            listen: named.listen
        )
        self.store = store
        self.storage = CacheManager.Configuration(file.store)
        self.mode = named.mode ?? file.mode ?? .automatic
        self.threads = named.threads ?? file.threads
    }

    /// What the exchange engine is told of it.
    var rules: RuleSet? { file.rules.isEmpty ? nil : file.rules }

    /// One setting that counts from the start to the end, and what another configuration says of
    /// it.
    struct Kept {
        var setting: String
        var kept: String
        var wanted: String
    }

    /// The settings of another configuration that would be others, had it been there at the start.
    func kept(against other: ServeSettings) -> [Kept] {
        var result: [Kept] = []
        func compare(_ setting: String, _ mine: String, _ theirs: String) {
            if mine != theirs { result.append(Kept(setting: setting, kept: mine, wanted: theirs)) }
        }
        compare(
            "listen",
            "\(ListenAddress(host: gateway.host, port: gateway.port))",
            "\(ListenAddress(host: other.gateway.host, port: other.gateway.port))"
        )
        compare("store.path", store, other.store)
        compare("threads", threads.map { "\($0)" } ?? "unset", other.threads.map { "\($0)" } ?? "unset")
        let theirs = other.file.effective.settings
        for (mine, theirs) in zip(file.effective.settings, theirs)
        where mine.name.hasPrefix("store.") && mine.name != "store.path" {
            compare(mine.name, mine.value ?? "unset", theirs.value ?? "unset")
        }
        return result
    }
}
