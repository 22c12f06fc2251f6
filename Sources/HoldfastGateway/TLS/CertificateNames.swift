/// A certificate's issuer and subject, as bytes that are only compared.
struct CertificateNames: Hashable {
    let issuer: ArraySlice<UInt8>
    let subject: ArraySlice<UInt8>

    /// Whether the certificate is self-signed.
    var isSelfSigned: Bool { issuer.elementsEqual(subject) }

    /// - Parameter bytes: the certificate in DER format. RFC 5280 §4.1
    /// - Returns: `nil` if the bytes are not a certificate.
    init?(_ bytes: [UInt8]) {
        // Certificate, then its signed part.
        guard let certificate = Element(bytes[...]), var parts = Element(certificate.content)?.content else {
            return nil
        }
        func next() -> Element? {
            guard let element = Element(parts) else { return nil }
            parts = element.rest
            return element
        }
        // The version may be missing. The serial number and the algorithm follow.
        guard let first = next(), first.tag != 0xA0 || next() != nil, next() != nil else { return nil }
        guard let issuer = next(), next() != nil, let subject = next() else { return nil }
        self.issuer = issuer.content
        self.subject = subject.content
    }

    /// One DER value.
    private struct Element {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// The bytes after the value.
        let rest: ArraySlice<UInt8>

        init?(_ bytes: ArraySlice<UInt8>) {
            var bytes = bytes
            guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
            var length = Int(first)
            if first >= 0x80 {
                // The number of bytes that encode the length.
                let count = Int(first & 0x7F)
                guard (1...4).contains(count), bytes.count >= count else { return nil }
                length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
                bytes.removeFirst(count)
            }
            guard bytes.count >= length else { return nil }
            self.tag = tag
            content = bytes.prefix(length)
            rest = bytes.dropFirst(length)
        }
    }
}
