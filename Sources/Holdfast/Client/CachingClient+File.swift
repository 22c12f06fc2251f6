public import HTTPCache
public import HTTPClientTransport
public import HoldfastConfiguration
public import Logging
import OfflineStore

extension CachingClient {
    /// Opens a client with its own store and transport, from a configuration's settings.
    /// ``close()`` closes both.
    ///
    /// ```swift
    /// import HoldfastConfiguration
    ///
    /// let client = try await CachingClient.open(Configuration(contentsOf: "holdfast.yaml"))
    /// ```
    ///
    /// The client uses the configuration's store, mode, rules and `fleet`, and these top-level
    /// settings: `timeouts.soft`, `timeouts.hard`, `breaker`, `failure-throttle`, `guard`,
    /// `eager-refresh`, `limits.in-flight-per-origin` and `limits.waiting-per-origin`. All other
    /// settings apply only to a gateway: `listen`, `routes`, `origins`, the other timeouts, the
    /// limits for clients, and so on. Set certificates and connection timeouts in
    /// `transportConfiguration`.
    ///
    /// Without `guard`, ``Configuration/defaultGoodDataGuard`` applies; see
    /// ``Configuration/goodDataGuard``.
    ///
    /// - Parameters:
    ///   - file: the content of a configuration file, or the same settings made in Swift. It must
    ///   name the store's folder.
    ///   - defaults: defaults for requests; see ``RequestDefaults``.
    ///   - decoder: see ``Configuration/decoder``.
    ///   - maximumBodyBytes: see ``Configuration/maximumBodyBytes``.
    ///   - transportConfiguration: the certificates, limits and timeouts of connections to origins.
    ///   - fleet: required if the file has a `fleet` section. The client then shares its purges
    ///     with the other nodes.
    /// - Throws: `ConfigurationError` if no folder is named, or if `fleet` cannot be used or needs
    ///   a connector; `StoreError` if the folder is not a store, cannot be written, or is in use by
    ///   another process.
    public static func open(
        _ file: HoldfastConfiguration.Configuration,
        defaults: RequestDefaults = RequestDefaults(),
        decoder: any ResponseDecoder = Configuration.defaultDecoder,
        maximumBodyBytes: Int = 64 << 20,
        transportConfiguration: HTTPClientTransport.Configuration = HTTPClientTransport.Configuration(),
        fleet: FleetConnector? = nil,
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast")
    ) async throws -> CachingClient {
        guard let folder = file.storeFolder else {
            throw ConfigurationError([
                .init(file: file.file, setting: "store.path", message: "The store has no folder. Name one.")
            ])
        }
        guard fleet != nil || file.fleet.url == nil else { throw missingFleet(file) }
        return try await open(
            store: folder,
            configuration: Configuration(
                file,
                defaults: defaults,
                decoder: decoder,
                maximumBodyBytes: maximumBodyBytes
            ),
            storeConfiguration: CacheManager.Configuration(file.store),
            transportConfiguration: transportConfiguration,
            clock: clock,
            logger: logger
        ) { store in try fleet?.join(file, store, logger) }
    }

    /// The error for a file with a fleet, and no connector. The client could purge only its own
    /// store, and its program would not notice.
    fileprivate static func missingFleet(_ file: HoldfastConfiguration.Configuration) -> ConfigurationError {
        ConfigurationError([
            .init(
                file: file.file,
                line: file.effective.settings.first { $0.name == "fleet.url" }?.line,
                setting: "fleet.url",
                message: """
                    The client cannot join the fleet. Add the product 'HoldfastFleet' to the target, import it, \
                    and open the client with the file and 'fleet: .redis'.
                    """
            )
        ])
    }
}

extension CachingClient.Configuration {
    /// Creates a client configuration with the mode, rules and options of a configuration file.
    ///
    /// The file's `store` is not used. If the file has a `fleet` section,
    /// ``CachingClient/open(store:configuration:storeConfiguration:transportConfiguration:clock:logger:)``
    /// throws, because the client would share no purges. To join the fleet, open the client with
    /// the file itself. A client with your own store and transport cannot join it.
    public init(
        _ file: HoldfastConfiguration.Configuration,
        defaults: RequestDefaults = RequestDefaults(),
        decoder: any ResponseDecoder = defaultDecoder,
        maximumBodyBytes: Int = 64 << 20
    ) {
        self.init(
            defaults: defaults,
            mode: file.mode ?? .automatic,
            rules: file.rules,
            options: file.options,
            decoder: decoder,
            maximumBodyBytes: maximumBodyBytes
        )
        if file.fleet.url != nil { missingFleet = CachingClient.missingFleet(file) }
    }
}
