public import Holdfast

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension FleetConnector {
    /// Connects through the server in `fleet.url`: Redis 7 or Valkey, alone, with sentinels, or a
    /// cluster.
    ///
    /// Opening the client throws `ConfigurationError` if a secret is missing or too short, the
    /// address is invalid, or a TLS file cannot be used. The server need not be reachable then. In
    /// that case, sharing starts later.
    public static var redis: FleetConnector {
        FleetConnector { file, store, logger in
            try FleetMember(
                file,
                store: store,
                environment: ProcessInfo.processInfo.environment,
                version: "",
                logger: logger
            )
        }
    }
}
