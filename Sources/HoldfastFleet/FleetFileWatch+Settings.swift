import FleetTier
import HoldfastConfiguration
import LocalFiles
import Logging
import RedisTier

extension FleetFileWatch {
    /// Returns the watches of all files that `fleet` names.
    ///
    /// - Parameter replaceKeys: called with the keys of each new set of secrets.
    static func all(
        of file: HoldfastConfiguration.Configuration,
        _ parts: FleetParts,
        _ connector: RedisConnector,
        _ environment: [String: String],
        _ logger: Logger,
        replaceKeys: @escaping @Sendable (FleetKeys) -> Void
    ) -> [FleetFileWatch] {
        [
            FleetFileWatch(passwordOf: file, parts, connector, logger),
            FleetFileWatch(tlsOf: file, connector, logger),
            FleetFileWatch(secretsOf: file, parts, environment, logger, replace: replaceKeys),
        ]
        .compactMap(\.self)
    }

    /// Watches the password of a connector; `nil` if it is in no file. New connections use a new
    /// password.
    convenience init?(
        passwordOf file: HoldfastConfiguration.Configuration,
        _ parts: FleetParts,
        _ connector: RedisConnector,
        _ logger: Logger
    ) {
        guard let password = parts.password, file.fleet.passwordFile != nil else { return nil }
        self.init("fleet.password", password, logger: logger) { _ in
            // A password in a file needs no environment.
            try file.fleetPassword(environment: [:])
        } replace: {
            connector.replacePassword(with: $0)
        }
    }

    /// Watches the files of `fleet.tls`; `nil` if there are none. New connections use new files.
    convenience init?(
        tlsOf file: HoldfastConfiguration.Configuration,
        _ connector: RedisConnector,
        _ logger: Logger
    ) {
        let paths = file.fleetTLS.paths
        guard !paths.isEmpty, let used = try? FleetFileWatch.contents(of: paths) else { return nil }
        self.init("fleet.tls", used, logger: logger) { _ in
            try FleetFileWatch.contents(of: paths)
        } replace: { _ in
            connector.replaceTLS(with: try FleetParts.makeTLS(file))
        }
    }

    /// Watches the secrets of a fleet; `nil` if they are in no file.
    ///
    /// - Parameter replace: called with the keys of each new set of secrets.
    convenience init?(
        secretsOf file: HoldfastConfiguration.Configuration,
        _ parts: FleetParts,
        _ environment: [String: String],
        _ logger: Logger,
        replace: @escaping @Sendable (FleetKeys) -> Void
    ) {
        guard !file.fleet.secretFiles.isEmpty else { return nil }
        self.init("fleet.secret", parts.secrets, changes: { $1.changes(from: $0) }, logger: logger) { used in
            try FleetSecrets(file, environment: environment)
                .succeeding(used, at: InvalidationSharing.systemUptime(), for: file.fleet.retentionTime)
        } replace: { secrets in
            // Reading the secrets has checked their lengths.
            if let keys = secrets.keys { replace(keys) }
        }
    }

    /// Returns the content of each file.
    private static func contents(of paths: [String]) throws -> [[UInt8]] {
        try paths.map { try LocalFile.read($0, limit: 1 << 20) }
    }
}
