/// The error for a TLS handshake that was not completed in time.
struct HandshakeTimeout: Error {}

/// The error for an origin that responds with TLS on a connection without TLS.
struct ReceivedTLS: Error {}

/// The error for an origin's certificate that is not trusted, with the certificate's dates in
/// seconds since 1970.
struct UntrustedCertificate: Error {
    let notBefore: Int64
    let notAfter: Int64
    let now: Int64
    let cause: any Error
}
