import FleetTier
import HTTPCache
import HoldfastConfiguration
import NIOCore
import NIOPosix
import RedisTier

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The parts of a fleet membership, from the configuration.
struct FleetParts: Sendable {
    var namespace: FleetNamespace
    var node: NodeName
    var secrets: FleetSecrets
    var keys: FleetKeys
    var address: RedisAddress
    var password: String?
    var tls: RedisTLS?

    init?(_ file: HoldfastConfiguration.Configuration, environment: [String: String]) throws {
        guard let url = file.fleet.url else { return nil }
        secrets = try FleetSecrets(file, environment: environment)
        guard let keys = secrets.keys else {
            throw Self.refusal(
                file,
                "fleet.secret",
                "It is too short. Use at least \(FleetKeys.shortestSecret) bytes."
            )
        }
        guard let namespace = file.fleet.namespace.flatMap({ FleetNamespace($0) }) else {
            throw Self.refusal(file, "fleet.namespace", "It is missing. Set the fleet's name on the server.")
        }
        guard let node = NodeName(file.fleet.node ?? Self.hostName) else {
            throw Self.refusal(file, "fleet.node", "The host's name is not a valid node name. Set a node name here.")
        }
        (self.keys, self.namespace, self.node) = (keys, namespace, node)
        password = try file.fleetPassword(environment: environment)
        do {
            address = try RedisAddress(url: url)
        } catch {
            throw Self.refusal(file, "fleet.url", error.message)
        }
        if address.usesTLS { tls = try Self.makeTLS(file) }
    }

    /// Reads the files of `fleet.tls`.
    static func makeTLS(_ file: HoldfastConfiguration.Configuration) throws -> RedisTLS {
        let files = file.fleetTLS
        do {
            return try RedisTLS(
                trustRootsFile: files.roots,
                certificateFile: files.certificate,
                keyFile: files.key,
                serverName: files.serverName
            )
        } catch {
            let paths = files.paths.map { "'\($0)'" }.joined(separator: ", ")
            throw refusal(file, "fleet.tls", "A file cannot be used (\(paths)): \(error)")
        }
    }

    /// Creates a connector to the server. It does not connect yet.
    ///
    /// - Parameters:
    ///   - name: the name in the server's client list.
    ///   - connectTime: the time limit for connecting, and separately for TLS and the handshake.
    /// - Throws: `ConfigurationError` if the address does not match the other settings.
    func makeConnector(
        _ file: HoldfastConfiguration.Configuration,
        as name: String,
        within connectTime: TimeAmount? = nil
    ) throws -> RedisConnector {
        // The address replaces this endpoint.
        var settings = RedisConnectionSettings(endpoint: .tcp(host: "localhost", port: 6379))
        settings.clientName = name
        settings.tls = tls
        if let connectTime { settings.connectTimeout = connectTime }
        do {
            // The connector has its own threads, because a connection attempt that is still in
            // progress when the program ends needs a running event loop.
            return try RedisConnector(
                address,
                settings: settings,
                password: password,
                on: MultiThreadedEventLoopGroup.singleton
            )
        } catch {
            throw Self.refusal(file, "fleet.url", error.message)
        }
    }

    private static func refusal(
        _ file: HoldfastConfiguration.Configuration,
        _ setting: String,
        _ message: String
    ) -> ConfigurationError {
        let line = file.effective.settings.first { $0.name == setting }?.line
        return ConfigurationError([.init(file: file.file, line: line, setting: setting, message: message)])
    }

    /// The host name, reduced to the characters that are allowed in a node's name.
    private static var hostName: String {
        let name = ProcessInfo.processInfo.hostName.map { character in
            character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
                ? character : "-"
        }
        return String(name.prefix(64))
    }
}
