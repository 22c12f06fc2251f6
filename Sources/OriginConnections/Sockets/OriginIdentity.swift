import HTTPCacheSemantics
import HoldfastConfiguration
import NIOCore
import NIOSSL

/// The name or address that must be among the subject alternative names of an origin's certificate.
/// RFC 9110 §4.3.4, RFC 9525 §6
///
/// NIOSSL alone would also accept other certificates:
///
/// * A certificate for the address that the connection reached. Then a machine's certificate would
///   be valid for every name that resolves to the machine.
/// * A certificate whose common name matches. The common name is human-readable text, and name
///   constraints do not restrict it.
struct OriginIdentity: Sendable {
    /// The error if the certificate does not contain the origin's name or address.
    struct Mismatch: Error, CustomStringConvertible {
        let expected: String
        /// The certificate's names, as far as they are known and can be shown.
        var found: [String] = []

        var description: String { "The certificate is for \(words)." }

        /// The names, after "is for".
        var words: String {
            let names = found.prefix(5).map { "'\($0)'" }.joined(separator: ", ")
            return (names.isEmpty ? "other names" : names) + ", not for '\(expected)'"
        }
    }

    /// A name in lowercase, or an IP address.
    let host: String
    /// The address in a certificate's encoding; `nil` for a name.
    private let address: [UInt8]?

    /// - Parameter host: a name, which may end with a dot, or an IP address without brackets.
    init(_ host: String) {
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        address = AddressRange.bytes(of: host)
        self.host = host.lowercased()
    }

    /// Returns the TLS handler for one connection. Only a name is sent to the server, because RFC
    /// 6066 §3 does not allow addresses.
    ///
    /// - Throws: an NIOSSL error for a name that no certificate can contain.
    func handler(_ context: NIOSSLContext, isVerified: Bool) throws -> NIOSSLClientHandler {
        let name = address == nil ? host : nil
        guard isVerified else { return try NIOSSLClientHandler(context: context, serverHostname: name) }
        // Called after NIOSSL's own checks, and before the first byte is sent.
        return try ._makeSSLClientHandler(context: context, serverHostname: name) { certificate, channel in
            channel.eventLoop.makeCompletedFuture {
                guard matches(certificate._subjectAlternativeNames().lazy.map { ($0.nameType, Array($0.contents)) })
                else { throw mismatch(certificate) }
            }
        }
    }

    /// The error for a certificate without this identity.
    func mismatch(_ certificate: NIOSSLCertificate) -> Mismatch {
        let names = certificate._subjectAlternativeNames().lazy
            .filter { $0.nameType == .dnsName }
            .map { String(decoding: Array($0.contents), as: UTF8.self) }
            // The server chose the text.
            .filter { $0.wholeMatch(of: /[A-Za-z0-9.*_-]{1,253}/) != nil }
        return Mismatch(expected: host, found: Array(names.prefix(5)))
    }

    /// Whether one of the names is this identity. Other types of names do not count.
    func matches(_ names: some Sequence<(_SubjectAlternativeName.NameType, [UInt8])>) -> Bool {
        names.contains { type, content in
            switch type {
            case .dnsName: address == nil && matches(content)
            case .ipAddress: address == content
            default: false
            }
        }
    }

    /// Whether a certificate's name matches. A wildcard must be the entire first label, and matches
    /// exactly one label. RFC 9525 §6.3
    private func matches(_ name: [UInt8]) -> Bool {
        var name = name.map(\.asciiLowercased)[...]
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        let host = Array(host.utf8)
        guard name.starts(with: "*.".utf8) else { return !name.isEmpty && name.elementsEqual(host) }
        guard let dot = host.firstIndex(of: UInt8(ascii: ".")), dot > 0 else { return false }
        return name.dropFirst().elementsEqual(host[dot...])
    }
}
