import CacheRules
import HTTPCacheSemantics

/// TLS for listeners.
extension Configuration {
    /// `listen[].tls`: the certificates presented to a listener's clients, and the requirements for
    /// their own certificates.
    public struct TLS: Sendable, Hashable {
        /// `certificates`: the certificates. The first certificate is used for clients that send no
        /// host name, or an unknown one.
        public var certificates: [Certificate]
        /// `min`: the minimum TLS version.
        public var minimum = Version.tls12
        /// `alpn`: the protocols over TLS, in order of preference. HTTP/1.1 is always included.
        public var protocols = ApplicationProtocol.allCases
        /// `client`: client certificates. `nil` does not request them.
        public var client: Client?

        /// Creates settings for TLS 1.2 and later, without client certificates.
        public init(certificates: [Certificate]) {
            self.certificates = certificates
        }

        /// The value as written in a file.
        var text: String {
            var parts = ["certificates: [\(certificates.map(\.text).joined(separator: ", "))]"]
            if minimum != .tls12 { parts.append("min: \(minimum.rawValue)") }
            if protocols != ApplicationProtocol.allCases {
                parts.append("alpn: [\(protocols.map(\.rawValue).joined(separator: ", "))]")
            }
            if let client { parts.append("client: \(client.text)") }
            return "{\(parts.joined(separator: ", "))}"
        }
    }
}

extension Configuration.TLS {
    /// The files of a certificate and its key. They are reloaded when they change.
    public struct Certificate: Sendable, Hashable {
        /// `name`: the certificate's name in metrics and messages.
        public var name: String
        /// `chain`: the path of a PEM file, relative to the configuration file, with the
        /// certificate and its intermediate certificates.
        public var chain: String
        /// `key`: the path of a PEM file with the certificate's private key.
        public var key: String

        /// Creates a certificate.
        public init(name: String, chain: String, key: String) {
            self.name = name
            self.chain = chain
            self.key = key
        }

        var text: String { "{name: \(name), chain: \(chain), key: \(key)}" }
    }

    /// A TLS version.
    public enum Version: String, Sendable, Hashable, CaseIterable {
        /// TLS 1.2. RFC 5246
        case tls12 = "1.2"
        /// TLS 1.3. RFC 8446
        case tls13 = "1.3"
    }

    /// A protocol over TLS, by its ALPN name. RFC 7301
    public enum ApplicationProtocol: String, Sendable, Hashable, CaseIterable {
        /// HTTP/2. RFC 9113
        case http2 = "h2"
        /// HTTP/1.1. RFC 9112
        case http11 = "http/1.1"
    }

    /// Settings for client certificates.
    public struct Client: Sendable, Hashable {
        /// `ca`: the path of a PEM file with the trusted roots for client certificates.
        public var roots: String
        /// `certificate`: whether clients without a certificate may connect.
        public var demand: Demand

        /// Creates settings with these roots.
        public init(roots: String, demand: Demand = .required) {
            self.roots = roots
            self.demand = demand
        }

        var text: String { "{ca: \(roots), certificate: \(demand.rawValue)}" }
    }

    /// Whether a client must have a certificate.
    public enum Demand: String, Sendable, Hashable, CaseIterable {
        /// A certificate is required.
        case required
        /// A certificate is optional. An invalid certificate is rejected.
        case optional
    }

    /// The maximum number of certificates per listener.
    package static let certificateLimit = 64

    /// Returns a copy in which `path` has been applied to each file path.
    func mapPaths(_ path: (String) -> String) -> Self {
        var result = self
        result.certificates = certificates.map {
            Certificate(name: $0.name, chain: path($0.chain), key: path($0.key))
        }
        result.client = client.map { Client(roots: path($0.roots), demand: $0.demand) }
        return result
    }
}

/// Reads TLS settings. Each refusal includes its own line number.
enum TLSReader {
    /// The values of `tls`.
    static let shape = Shape.mapping(members)

    static let members: [Shape.Member] = [
        .init(
            "certificates",
            .sequence(
                .mapping(certificateKeys.map { .init($0, .text, isRequired: true) }),
                limit: Configuration.TLS.certificateLimit
            ),
            isRequired: true,
            describedBy: "tls.certificates"
        ),
        .init("min", .words(of: Configuration.TLS.Version.self), describedBy: "tls.min"),
        .init("alpn", .sequence(.words(of: Configuration.TLS.ApplicationProtocol.self)), describedBy: "tls.alpn"),
        .init(
            "client",
            .mapping([
                .init("ca", .text, isRequired: true), .init("certificate", .words(of: Configuration.TLS.Demand.self)),
            ]),
            describedBy: "tls.client"
        ),
    ]

    private static let keys = ["certificates", "min", "alpn", "client"]
    private static let certificateKeys = ["name", "chain", "key"]
    private static let clientKeys = ["ca", "certificate"]

    static func settings(_ value: FileValue) throws(Refusal) -> Configuration.TLS {
        var tls = Configuration.TLS(certificates: [])
        for entry in try value.entries("TLS settings (\(keys.joined(separator: ", ")))") {
            switch entry.key {
            case "certificates": tls.certificates = try certificates(entry.value)
            case "min": tls.minimum = try entry.reading(word)
            case "alpn": tls.protocols = try protocols(entry.value)
            case "client": tls.client = try client(entry.value)
            case let name where certificateKeys.contains(name):
                throw Refusal(
                    "'\(name)' belongs in 'certificates'. Write 'certificates: [{name: main, chain: chain.pem, key: key.pem}]'.",
                    line: entry.line
                )
            default: throw Readers.unknown(entry, of: keys)
            }
        }
        guard !tls.certificates.isEmpty else {
            throw Refusal("TLS needs 'certificates': a list of '{name, chain, key}'.", line: value.line)
        }
        return tls
    }

    private static func protocols(_ value: FileValue) throws(Refusal) -> [Configuration.TLS.ApplicationProtocol] {
        guard case .list(let values, _) = value, !values.isEmpty else {
            throw Refusal("Expected a list such as '[h2, http/1.1]', not \(value.shown).", line: value.line)
        }
        var result: [Configuration.TLS.ApplicationProtocol] = []
        for value in values {
            let name: Configuration.TLS.ApplicationProtocol
            do throws(Refusal) {
                name = try word(value)
            } catch {
                throw Refusal("'alpn': \(error.message)", line: error.line ?? value.line)
            }
            guard !result.contains(name) else {
                throw Refusal("'\(name.rawValue)' is listed twice. Remove one of them.", line: value.line)
            }
            result.append(name)
        }
        guard result.contains(.http11) else {
            throw Refusal(
                "'alpn' needs 'http/1.1', for clients that offer no protocol. Write '[h2, http/1.1]', or '[http/1.1]' to disable HTTP/2.",
                line: value.line
            )
        }
        return result
    }

    private static func certificates(_ value: FileValue) throws(Refusal) -> [Configuration.TLS.Certificate] {
        guard case .list(let values, _) = value, !values.isEmpty else {
            throw Refusal("Expected a list of '{name, chain, key}', not \(value.shown).", line: value.line)
        }
        let limit = Configuration.TLS.certificateLimit
        guard values.count <= limit else {
            throw Refusal("There are \(values.count) certificates. The limit is \(limit).", line: value.line)
        }
        var result: [Configuration.TLS.Certificate] = []
        for value in values {
            let certificate = try certificate(value)
            guard !result.contains(where: { $0.name == certificate.name }) else {
                throw Refusal(
                    "Two certificates are named \(shown(certificate.name)). Rename one of them.",
                    line: value.line
                )
            }
            result.append(certificate)
        }
        return result
    }

    private static func certificate(_ value: FileValue) throws(Refusal) -> Configuration.TLS.Certificate {
        var parts: [String: String] = [:]
        for entry in try value.entries("'{name, chain, key}'") {
            guard certificateKeys.contains(entry.key) else { throw Readers.unknown(entry, of: certificateKeys) }
            parts[entry.key] = try entry.value.text(entry.key == "name" ? "a name" : "the path of a PEM file")
        }
        guard let name = parts["name"], let chain = parts["chain"], let key = parts["key"] else {
            let missing = certificateKeys.filter { parts[$0] == nil }.map { "'\($0)'" }
            throw Refusal("A certificate needs \(missing.joined(separator: " and ")).", line: value.line)
        }
        // The name is a metric label.
        guard name.utf8.count <= 64, name.utf8.allSatisfy({ $0.isVisible && !"\"\\,{}".utf8.contains($0) })
        else {
            throw Refusal(
                "\(shown(name)) is not a certificate name. A name has at most 64 visible ASCII characters except double quotes, backslashes, commas and braces.",
                line: value.line
            )
        }
        return Configuration.TLS.Certificate(name: name, chain: chain, key: key)
    }

    private static func client(_ value: FileValue) throws(Refusal) -> Configuration.TLS.Client {
        var roots: String?
        var demand = Configuration.TLS.Demand.required
        for entry in try value.entries("'{ca: PATH, certificate: required}'") {
            switch entry.key {
            case "ca": roots = try entry.value.text("the path of a PEM file")
            case "certificate": demand = try entry.reading(word)
            default: throw Readers.unknown(entry, of: clientKeys)
            }
        }
        guard let roots else {
            throw Refusal("Client certificates need 'ca', the PEM file of their roots.", line: value.line)
        }
        return Configuration.TLS.Client(roots: roots, demand: demand)
    }

    private static func word<Word: CaseIterable & RawRepresentable<String>>(
        _ value: FileValue
    ) throws(Refusal) -> Word {
        try value.word(Word.allCases.map { ($0.rawValue, $0) })
    }
}
