import NIOSSL

/// The reason why a handshake failed. The value of a metric's label.
enum HandshakeFailure: String, CaseIterable, Sendable {
    /// The client disconnected before the handshake was complete.
    case clientClosed = "client-closed"
    /// The handshake was not complete in time.
    case timeout
    /// The client does not use TLS, for example plain HTTP.
    case notTLS = "not-tls"
    /// The client supports no version that the listener allows.
    case version
    /// Client and listener have no cipher, curve or signature in common.
    case noCommonCipher = "no-common-cipher"
    /// The client has no certificate, or an invalid one.
    case clientCertificate = "client-certificate"
    /// The client rejects this server's certificate.
    case rejectedByClient = "rejected-by-client"
    case other

    /// The index of the reason in `allCases`.
    var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    init(_ error: any Error) {
        guard let error = error as? NIOSSLError, case .handshakeFailed(let cause) = error,
            case .sslError(let stack) = cause
        else {
            self = .other
            return
        }
        if stack.contains(.eofDuringHandshake) {
            self = .clientClosed
            return
        }
        // The library's errors can be distinguished only by their text.
        self = stack.lazy.compactMap { Self(reason: $0.description) }.first ?? .other
    }

    /// Whether the client sent an HTTP request without TLS: GET, HEAD, POST or PUT.
    static func isRequest(_ error: any Error) -> Bool {
        guard let error = error as? NIOSSLError, case .handshakeFailed(let cause) = error,
            case .sslError(let stack) = cause
        else { return false }
        return stack.contains { $0.description.contains(":HTTP_REQUEST") }
    }

    /// - Parameter reason: contains the name of a BoringSSL error.
    private init?(reason: String) {
        func has(_ names: String...) -> Bool { names.contains { reason.contains(":\($0)") } }
        if has("HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER", "UNEXPECTED_MESSAGE") {
            self = .notTLS
        } else if has("UNSUPPORTED_PROTOCOL", "INAPPROPRIATE_FALLBACK", "NO_SUPPORTED_VERSIONS_ENABLED") {
            self = .version
        } else if has("NO_SHARED_CIPHER", "NO_SHARED_GROUP", "NO_COMMON_SIGNATURE_ALGORITHMS", "WRONG_CURVE") {
            self = .noCommonCipher
        } else if has("PEER_DID_NOT_RETURN_A_CERTIFICATE", "CERTIFICATE_VERIFY_FAILED", "BAD_SIGNATURE") {
            self = .clientCertificate
        } else if has(
            // OpenSSL sends this TLS 1.3 alert before it starts to encrypt.
            "DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
            "TLSV1_ALERT_UNKNOWN_CA",
            "SSLV3_ALERT_CERTIFICATE",
            "SSLV3_ALERT_BAD_CERTIFICATE",
            "TLSV1_ALERT_ACCESS_DENIED",
            "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE",
            "TLSV1_CERTIFICATE"
        ) {
            self = .rejectedByClient
        } else if has("TLSV1_ALERT_PROTOCOL_VERSION") {
            self = .version
        } else {
            return nil
        }
    }
}
