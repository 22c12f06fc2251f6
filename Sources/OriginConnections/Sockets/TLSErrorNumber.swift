import NIOSSL

/// The number of a TLS error, as BoringSSL defines it (`ssl.h`).
struct TLSErrorNumber: Hashable {
    private let number: UInt32

    private init(_ number: UInt32) { self.number = number }

    /// `ERR_LIB_SSL`
    private static let library: UInt32 = 16

    /// `SSL_R_CERTIFICATE_VERIFY_FAILED`
    static let certificateRejected = TLSErrorNumber(125)
    /// `SSL_R_WRONG_VERSION_NUMBER`: the first bytes are not a TLS record.
    static let notTLS = TLSErrorNumber(247)

    /// The peer's alert; `nil` for other errors. RFC 8446 §6
    var alert: UInt32? { number >= 1000 ? number - 1000 : nil }

    /// - Returns: `nil` if this is not an error of a TLS connection.
    init?(_ error: any Error) {
        let inner: BoringSSLError
        switch error {
        case NIOSSLError.handshakeFailed(let error): inner = error
        case let error as BoringSSLError: inner = error
        default: return nil
        }
        guard case .sslError(let stack) = inner else { return nil }
        for entry in stack {
            // NIOSSL shows the code only in the description: `Error: 268435581 error:1000007d:…`.
            let words = entry.description.split(separator: " ", maxSplits: 2)
            if let code = words.dropFirst().first.flatMap({ UInt32($0) }), code >> 24 == Self.library {
                self.init(code & 0xFFF)
                return
            }
        }
        return nil
    }
}
