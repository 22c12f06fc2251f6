import NIOSSL

/// A file in another format than the one that is needed, recognized so that a message can say how
/// to convert it.
enum ForeignFile {
    /// A certificate in PEM format.
    case certificate
    /// A private key in PEM format.
    case key
    /// Certificates and their key, often with a password. RFC 7292 §4
    case pkcs12
    case certificateInDER
    case keyInDER
    /// A request for a certificate in PEM format. RFC 2986
    case request

    /// Returns `nil` for unknown content.
    init?(_ bytes: [UInt8]) {
        if bytes.isEmpty { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        let (hasKey, hasCertificate) = (text.contains("PRIVATE KEY-----"), text.contains("-----BEGIN CERTIFICATE-----"))
        if hasKey != hasCertificate {
            self = hasKey ? .key : .certificate
        } else if !hasKey, text.contains("CERTIFICATE REQUEST-----") {
            self = .request
        } else if (try? NIOSSLCertificate(bytes: bytes, format: .der)) != nil {
            self = .certificateInDER
        } else if Self.isPKCS12(bytes) {
            self = .pkcs12
        } else if (try? NIOSSLPrivateKey(bytes: bytes, format: .der)) != nil {
            self = .keyInDER
        } else {
            return nil
        }
    }

    /// Returns whether the bytes begin a sequence whose first member is the version of PKCS #12, 3.
    private static func isPKCS12(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 4, bytes[0] == 0x30 else { return false }
        // A length of 128 or more has its own length in the lower bits.
        let lengthBytes = bytes[1] < 0x80 ? 1 : 1 + Int(clamping: bytes[1] & 0x7F)
        return bytes.dropFirst(1 + lengthBytes).starts(with: [0x02, 0x01, 0x03])
    }

    /// Returns the fault and the next step, to follow the file's name; `nil` if it is as wanted.
    ///
    /// - Parameter wanted: `a certificate` or `a private key`.
    func words(insteadOf wanted: String) -> String? {
        switch self {
        case .certificate where wanted == "a certificate", .key where wanted == "a private key": nil
        case .certificate:
            "contains a certificate instead of \(wanted). Check whether the two files are swapped."
        case .key: "contains a private key instead of \(wanted). Check whether the two files are swapped."
        case .pkcs12:
            "is a PKCS #12 file. Convert it to PEM with 'openssl pkcs12': '-nokeys' for the certificates, '-nocerts -nodes' for the key."
        case .certificateInDER:
            "is a certificate in DER format. Convert it to PEM with 'openssl x509 -inform der'."
        case .request:
            "is a request for a certificate. Let an authority sign it, and use the certificate that it issues."
        case .keyInDER: "is a private key in DER format. Convert it to PEM with 'openssl pkey -inform der'."
        }
    }
}
