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

/// The parts of a membership in a fleet, as the configuration says them.
struct FleetParts: Sendable {
    var namespace: FleetNamespace
    var node: NodeName
    var keys: FleetKeys
    var address: RedisAddress
    var password: String?
    var tls: RedisTLS?

    init?(_ file: HoldfastConfiguration.Configuration, environment: [String: String]) throws {
        guard let url = file.fleet.url else { return nil }
        let secrets = try file.fleetSecrets(environment: environment)
        let (secret, previous) = (Array(secrets.secret.utf8), secrets.previous.map { Array($0.utf8) })
        let next = secrets.next.map { Array($0.utf8) }
        guard let keys = FleetKeys(secret: secret, previous: previous, next: next) else {
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
            throw Self.refusal(file, "fleet.node", "The host's name is not a valid node name. Set one here.")
        }
        (self.keys, self.namespace, self.node, password) = (keys, namespace, node, secrets.password)
        do {
            address = try RedisAddress(url: url)
        } catch {
            throw Self.refusal(file, "fleet.url", error.message)
        }
        guard address.usesTLS else { return }
        let files = file.fleetTLS
        do {
            tls = try RedisTLS(
                trustRootsFile: files.roots,
                certificateFile: files.certificate,
                keyFile: files.key,
                serverName: files.serverName
            )
        } catch {
            throw Self.refusal(file, "fleet.tls", "A file cannot be used: \(error)")
        }
    }

    /// Makes connections to the server. Nothing is connected before it is asked to.
    ///
    /// - Parameters:
    ///   - name: in the server's list of clients.
    ///   - connectTime: to connect, and once more for TLS and the handshake.
    /// - Throws: `ConfigurationError` for an address that does not go with the other settings.
    func makeConnector(
        _ file: HoldfastConfiguration.Configuration,
        as name: String,
        within connectTime: TimeAmount? = nil
    ) throws -> RedisConnector {
        // The address replaces the place of the server.
        var settings = RedisConnectionSettings(endpoint: .tcp(host: "localhost", port: 6379))
        settings.clientName = name
        settings.tls = tls
        if let connectTime { settings.connectTimeout = connectTime }
        do {
            // Threads of its own: a connection that is being made when the program ends must find
            // its loop alive.
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

    /// The host's name, with the characters that a node's name can have.
    private static var hostName: String {
        let name = ProcessInfo.processInfo.hostName.map { character in
            character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
                ? character : "-"
        }
        return String(name.prefix(64))
    }
}
