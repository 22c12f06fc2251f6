import GatewayRouting
import HoldfastTesting
import NIOSSL
import OriginConnections
import Synchronization
import TestSupport

@testable import HoldfastGateway

/// A gateway that is the proxy of a command, in front of origins on loopback. Its certificates are
/// for `localhost`.
struct ProxiedGateway {
    /// `holdfast:secret`
    static let credentials = "aG9sZGZhc3Q6c2VjcmV0"
    static let authorization = "Proxy-Authorization: Basic \(credentials)\r\n"

    let gateway: RunningGateway
    fileprivate let reported: Reported

    /// The events that the proxy has reported so far.
    var events: Set<CommandProxy.Event> { reported.events.withLock { $0 } }

    /// - Parameters:
    ///   - credentials: the user and the password; `nil` if clients need none.
    ///   - ports: the ports that clients may name; `nil` for all, because origins have free ports.
    ///   - allowsLoopback: whether the proxy connects to the origins of tests.
    ///   - trustsOrigins: whether it trusts their certificates.
    static func with(
        credentials: String? = ProxiedGateway.credentials,
        ports: Set<UInt16>? = nil,
        allowsLoopback: Bool = true,
        upgrades: [String] = [],
        trustsOrigins: Bool = true,
        certificates: any TunnelCertificates = LocalhostCertificates(),
        _ body: (ProxiedGateway) async throws -> Void
    ) async throws {
        let reported = Reported()
        let proxy = try CommandProxy(
            credentials: credentials,
            ports: ports,
            certificates: certificates,
            key: TestCertificates.serverKey,
            report: { event in reported.events.withLock { _ = $0.insert(event) } }
        )
        try await TestCertificates.withTrustRoots { roots in
            try await RunningGateway.with(
                origin: "http://unused.invalid",
                configure: {
                    $0.routes = .forwarding(upgrades: upgrades)
                    $0.commandProxy = proxy
                    RunningGateway.trustingClients(&$0)
                },
                configureTransport: {
                    ($0.routes, $0.trustRootsFile) = (nil, trustsOrigins ? roots : nil)
                    var policy = DestinationPolicy(allowsPrivate: false)
                    policy.allowsLoopback = allowsLoopback
                    $0.destinations = policy
                },
                { try await body(ProxiedGateway(gateway: $0, reported: reported)) }
            )
        }
    }

    /// A client of TLS that trusts the tests' certificate, or any.
    ///
    /// - Parameter protocols: those that the client names, such as `h2`.
    static func client(isVerifying: Bool = true, protocols: [String] = []) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        let root = try NIOSSLCertificate(bytes: Array(TestCertificates.server.utf8), format: .pem)
        configuration.trustRoots = .certificates([root])
        configuration.applicationProtocols = protocols
        if !isVerifying { configuration.certificateVerification = .none }
        return try NIOSSLContext(configuration: configuration)
    }

    /// Opens a tunnel, and begins TLS in it.
    ///
    /// - Parameter name: the name that the client sends in TLS.
    func tunnel<Value>(
        to authority: String,
        name: String = "localhost",
        isVerifying: Bool = true,
        protocols: [String] = [],
        _ body: (RawClient) async throws -> Value
    ) async throws -> Value {
        let context = try Self.client(isVerifying: isVerifying, protocols: protocols)
        return try await RawClient.with(port: gateway.port) { client in
            let response = try await connect(client, to: authority)
            guard response.status == 200 else { throw RawClient.Failure.noResponse(response.line) }
            try await client.startTLS(RawClient.TLS(context, name: name))
            return try await body(client)
        }
    }

    /// Asks for a tunnel.
    func connect(
        _ client: RawClient,
        to authority: String,
        fields: String = authorization
    ) async throws -> RawResponse {
        try await client.send("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\(fields)\r\n")
        return try await client.response(isHead: true)
    }
}

/// Has one certificate, for every host.
struct LocalhostCertificates: TunnelCertificates {
    func certificate(for host: String, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        completion(
            Result {
                try NIOSSLCertificate(bytes: Array(TestCertificates.server.utf8), format: .pem).toDERBytes()
            }
        )
    }
}

/// Has no certificates.
struct NoCertificates: TunnelCertificates {
    struct Refusal: Error, CustomStringConvertible { let description = "There are too many hosts." }

    func certificate(for host: String, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void) {
        completion(.failure(Refusal()))
    }
}

private final class Reported: Sendable {
    let events = Mutex<Set<CommandProxy.Event>>([])
}
