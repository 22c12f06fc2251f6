import HTTPCacheSemantics
import HTTPTypes
import NIOSSL

/// The proxy of one command: `holdfast record` and `holdfast replay` pass the command's requests
/// through it, also those over https. A gateway of `holdfast serve` has none.
///
/// Only clients with the password can use it. It serves a tunnel with a certificate that is made
/// for the tunnel's host, so the requests in it reach the cache. docs/decisions/0109
package struct CommandProxy: Sendable {
    /// Something that keeps requests from being recorded or served.
    package enum Event: Sendable, Hashable {
        /// The TLS handshake in the tunnel to a host failed, for example because the client trusts
        /// only certificates that it knows.
        case failedHandshake(host: String, reason: String)
        /// A tunnel to a host ended before its first request, and no other event says why. A client
        /// that accepts only one key closes the connection after the handshake, without an alert.
        case emptyTunnel(host: String)
        /// A tunnel or a request to a host was refused. The host has its port if the port is the
        /// reason.
        case refused(host: String, reason: String)
        /// A client switched to another protocol, whose bytes are not recorded.
        case switchedProtocol(host: String)
    }

    /// The user and the password in Base64, as in `Proxy-Authorization: Basic` (RFC 7617); `nil` if
    /// only the command can connect.
    private let credentials: [UInt8]?
    /// The ports of origins that clients may name; `nil` for all.
    private let ports: Set<UInt16>?
    let certificates: any TunnelCertificates
    /// The private key of all certificates.
    let key: NIOSSLPrivateKey
    let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - credentials: the user and the password in Base64; `nil` if only the command can connect.
    ///   - key: the private key of all certificates, in PEM.
    ///   - report: called on any thread.
    /// - Throws: NIOSSL's error for an unusable key.
    package init(
        credentials: String?,
        ports: Set<UInt16>?,
        certificates: any TunnelCertificates,
        key: String,
        report: @escaping @Sendable (Event) -> Void
    ) throws {
        self.credentials = credentials.map { Array($0.utf8) }
        self.ports = ports
        self.certificates = certificates
        self.key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        self.report = report
    }

    /// Whether a request has the proxy's password. RFC 9110 §11.7.2
    func admits(_ fields: HTTPFields) -> Bool {
        guard let credentials else { return true }
        guard let value = fields[.proxyAuthorization] else { return false }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic" else { return false }
        let given = Array(parts[1].utf8)
        guard given.count == credentials.count else { return false }
        // Compares all bytes, so that the time says nothing about them.
        return zip(given, credentials).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Returns the problem of a client that names an origin whose port is not allowed, and reports
    /// it; `nil` if the port is allowed.
    func problem(ofPort port: UInt16, of host: String) -> Problem? {
        if ports?.contains(port) ?? true { return nil }
        report(.refused(host: "\(host):\(port)", reason: "the port needs '--allow-port \(port)'"))
        return .forbiddenPort(host, port)
    }
}

/// Makes the certificates with which a ``CommandProxy`` serves tunnels.
package protocol TunnelCertificates: Sendable {
    /// Calls `completion` with a certificate for a host, in DER, on any thread.
    ///
    /// - Parameter host: a name in lowercase, an IPv4 address, or an IPv6 address in brackets.
    func certificate(for host: String, _ completion: @escaping @Sendable (Result<[UInt8], any Error>) -> Void)
}
