/// Why no connection to an origin could be used, in more detail than ``TransportError/Code``. The
/// raw value appears in logs, reports and metrics. docs/origins.md, "Why an origin is unreachable"
package enum ConnectionFailure: String, Sendable, Hashable, CaseIterable {
    /// There is no route to the origin.
    case noRoute = "no-route"
    /// This machine's firewall or security policy forbids the connection.
    case blocked
    case connectTimeout = "connect-timeout"
    /// Nothing listens on the port.
    case refused
    /// The connection was reset before a response.
    case reset
    /// The connection was accepted, but the TLS handshake was not completed in time.
    case handshakeTimeout = "handshake-timeout"
    /// The server does not speak TLS.
    case notTLS = "not-tls"
    /// The server speaks TLS, but the origin's URL begins with `http://`.
    case speaksTLS = "speaks-tls"
    /// The server ended the TLS handshake.
    case handshakeRefused = "handshake-refused"
    /// The server requires another client certificate.
    case clientCertificate = "client-certificate"
    /// The certificate is not signed by a trusted authority.
    case unknownAuthority = "unknown-authority"
    /// The certificate is for other names.
    case wrongName = "wrong-name"
    case certificateExpired = "certificate-expired"
    case certificateNotYetValid = "certificate-not-yet-valid"
}

/// A failure of an origin or a server, for operators.
package struct FailureCause: Sendable, Hashable {
    /// See ``TransportError/reason``.
    package var reason: String
    /// The failure and the next step, without query values and credentials.
    package var message: String

    /// Creates a cause.
    package init(reason: String, message: String) { (self.reason, self.message) = (reason, message) }

    /// Creates the cause that an error states.
    package init(_ error: TransportError) { self.init(reason: error.reason, message: error.message) }
}
