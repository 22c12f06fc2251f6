public import HTTPCache
public import HTTPClientTransport
public import HoldfastConfiguration
public import Logging
import OfflineStore

extension CachingClient {
    /// A client with a store and a transport of its own, as a configuration says; ``close()``
    /// closes both.
    ///
    /// ```swift
    /// let client = try await CachingClient.open(Configuration(contentsOf: "holdfast.yaml"))
    /// ```
    ///
    /// Of the configuration, the store, the mode, the rules and everything about timeouts, limits
    /// and origins count; `listen`, `routes` and the limits of clients are a gateway's.
    ///
    /// - Parameters:
    ///   - file: what a file says, or Swift values in its place. It names the store's folder.
    ///   - defaults: for requests; see ``RequestDefaults``.
    ///   - decoder: see ``Configuration/decoder``.
    ///   - maximumBodyBytes: see ``Configuration/maximumBodyBytes``.
    /// - Throws: `ConfigurationError`: no folder is named. `StoreError`: the folder is no store,
    ///   cannot be written, or another process has it.
    public static func open(
        _ file: HoldfastConfiguration.Configuration,
        defaults: RequestDefaults = RequestDefaults(),
        decoder: any ResponseDecoder = Configuration.defaultDecoder,
        maximumBodyBytes: Int = 64 << 20,
        transportConfiguration: HTTPClientTransport.Configuration = HTTPClientTransport.Configuration(),
        clock: any WallClock = SystemWallClock(),
        logger: Logger = Logger(label: "holdfast")
    ) async throws -> CachingClient {
        guard let folder = file.storeFolder else {
            throw ConfigurationError([
                .init(file: file.file, setting: "store.path", message: "No folder is named for what is stored.")
            ])
        }
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
        )
    }
}

extension CachingClient.Configuration {
    /// What a configuration file says of a client: mode, rules and options.
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
    }
}
