import NIOSSL

/// Why a handshake failed: a label of metrics.
enum HandshakeFailure: String, CaseIterable, Sendable {
    /// The client went away before its end.
    case clientClosed = "client-closed"
    /// It was not completed in time.
    case timeout
    /// The client speaks no TLS, for example HTTP without it.
    case notTLS = "not-tls"
    /// The client speaks no version that the listener allows.
    case version
    /// The client offers no cipher, curve or signature that both have.
    case noCommonCipher = "no-common-cipher"
    /// The client has no certificate, or one that is not valid.
    case clientCertificate = "client-certificate"
    /// The client rejects this server's certificate.
    case rejectedByClient = "rejected-by-client"
    case other

    /// Its place in `allCases`.
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
        // The library tells errors apart by their texts only.
        self = stack.lazy.compactMap { Self(reason: $0.description) }.first ?? .other
    }

    /// - Parameter reason: has the name of an error of BoringSSL.
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
            // OpenSSL sends this alert of TLS 1.3 before it begins to encrypt.
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
