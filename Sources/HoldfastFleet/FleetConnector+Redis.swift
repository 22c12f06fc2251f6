public import Holdfast
import HoldfastConfiguration

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
    /// address is invalid, or a TLS file cannot be used. It does not throw if the server is
    /// unreachable: sharing starts when the server can be reached.
    public static var redis: FleetConnector {
        FleetConnector { file, store, logger in
            let member = try FleetMember(
                file,
                store: store,
                environment: ProcessInfo.processInfo.environment,
                version: "",
                logger: logger
            )
            member?.resolve(by: RuledURLs(rules: file.rules))
            return member
        }
    }
}
