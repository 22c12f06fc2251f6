import GatewayRouting
import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import NIOCore

/// The rights of one connection's client, as long as the engine's settings do not change.
///
/// It holds what is the same for all requests of the connection, so that a request only reads it.
/// `ClientSession.admit` asks it once per request.
struct ClientAdmission: Sendable {
    let client: GatewayClient
    /// See ``ClientTraits``.
    let traits: ClientTraits
    /// The version of the settings that this value is valid for.
    let settings: UInt64
    /// Whether checks need the request's client, which a trusted client names in the request's
    /// fields. The hot table then cannot serve the request, because they are not decoded yet.
    let needsFields: Bool
    /// Whether checks decide about the client's requests before they are decoded.
    let isChecked: Bool
    /// Whether a route has checks of its own.
    let checksRoutes: Bool
    private let trusted: [AddressRange]
    private let checks: [any RequestCheck]
    /// The checks of the client's own requests, made before a request is decoded; empty if its
    /// requests name other clients.
    let ownChecks: ClientChecks

    /// - Parameters:
    ///   - settings: the engine's settings' version. Read it before the configuration, so that
    ///     older rights never pass for the current ones.
    init(
        _ client: GatewayClient,
        by admission: Admission,
        settings: UInt64,
        _ configuration: GatewayConfiguration
    ) {
        self.client = client
        self.settings = settings
        traits = ClientTraits(client, in: configuration)
        trusted = configuration.trustedClients
        checks = admission.requestChecks
        checksRoutes = configuration.routes.checkClients
        needsFields = (!checks.isEmpty || checksRoutes) && traits.contains(.trusted)
        ownChecks = ClientChecks(needsFields ? [] : checks, of: client.ownAddress)
        isChecked = !ownChecks.isEmpty
    }

    /// Whether the client may state the addresses and other facts of its own clients.
    func isTrusted(by configuration: GatewayConfiguration) -> Bool {
        // Two references to one list are equal without a comparison of the elements.
        configuration.trustedClients == trusted
            ? traits.contains(.trusted) : client.isTrusted(by: configuration)
    }

    /// Returns the client that a request is made for: this client, or the client that a trusted
    /// proxy names.
    func principal(_ fields: HTTPFields, _ configuration: GatewayConfiguration) -> RequestClient {
        guard isTrusted(by: configuration) else { return client.own }
        return GatewayClient.address(behind: fields, configuration).map { RequestClient($0) } ?? client.own
    }

    /// Asks the checks about a decoded request whose fields name the client.
    ///
    /// - Returns: the problem that the client gets; `nil` if the request passes, or if the checks
    ///   were asked earlier.
    func problem(
        naming fields: HTTPFields,
        at now: NIODeadline,
        _ configuration: @autoclosure () -> GatewayConfiguration
    ) -> Problem? {
        guard needsFields, !checks.isEmpty else { return nil }
        let client = requester(fields, configuration())
        return ClientChecks(checks, of: client).firstProblem(at: now)
    }

    /// Returns the client that checks decide about: this client, or the client that a trusted proxy
    /// names.
    func requester(_ fields: HTTPFields, _ configuration: GatewayConfiguration) -> ClientAddress {
        guard needsFields else { return client.ownAddress }
        return ClientAddress(text: GatewayClient.address(behind: fields, configuration) ?? client.address)
    }
}
