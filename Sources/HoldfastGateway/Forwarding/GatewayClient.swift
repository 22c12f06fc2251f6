import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration

/// The client of a connection.
final class GatewayClient: Sendable {
    /// The client's IP address; ``localName`` for a Unix socket.
    let address: String?
    /// Whether ``address`` is the client's own: see ``ClientAddress/isOwn``.
    let hasOwnAddress: Bool
    /// Whether the client's listener has TLS.
    let isSecure: Bool
    /// The scheme that origins are told: `https` or `http`. A job's gateway may state https to them
    /// without TLS (`GatewayConfiguration.statesHTTPS`).
    let statedScheme: String
    /// The client's TLS version; `nil` without TLS, and before the handshake is complete.
    let tlsVersion: String?
    /// The client that this connection's own requests count for when an origin's permits are
    /// shared.
    let own: RequestClient

    /// The name of every client that connects through a Unix socket. It is used instead of an
    /// address: in `clients.trusted` and `clients.purgers`, and in limits.
    static let localName = AddressRange.unixName

    /// Whether the client connects through a Unix socket.
    var isLocal: Bool { address == Self.localName }

    var ownAddress: ClientAddress { ClientAddress(text: address, isOwn: hasOwnAddress) }

    /// `https` or `http`
    var scheme: String { isSecure ? "https" : "http" }

    /// - Parameters:
    ///   - tlsVersion: `1.2` or `1.3`; `nil` if there is none.
    ///   - isSecure: whether the client's listener has TLS; `nil` derives it from ``tlsVersion``.
    ///   - statesHTTPS: whether origins are told https in any case.
    ///   - hasOwnAddress: see ``ClientAddress/isOwn``.
    init(
        address: String?,
        tlsVersion: String? = nil,
        isSecure: Bool? = nil,
        statesHTTPS: Bool = false,
        hasOwnAddress: Bool = true
    ) {
        let isSecure = isSecure ?? (tlsVersion != nil)
        self.address = address
        self.hasOwnAddress = hasOwnAddress
        self.isSecure = isSecure
        statedScheme = isSecure || statesHTTPS ? "https" : "http"
        self.tlsVersion = tlsVersion
        own = address.map { RequestClient($0) } ?? .none
    }
}

extension GatewayClient {
    /// The fields that describe the client to origins: `Forwarded` (RFC 7239), and
    /// `X-Forwarded-For` and `X-Forwarded-Proto` with the same meaning.
    ///
    /// Computed, because they are needed once for all requests of a connection that have the same
    /// fields, and never for hits.
    var fields: [HTTPField] {
        let forwardedProto = HTTPField(name: .xForwardedProto, value: statedScheme)
        guard let address else { return [forwardedProto] }
        if isLocal {
            // `X-Forwarded-For` requires an address. RFC 7239 §6.3 allows a name.
            return [forwardedProto, HTTPField(name: .forwarded, value: "for=_unix;proto=\(statedScheme)")]
        }
        return [
            forwardedProto,
            HTTPField(name: .xForwardedFor, value: address),
            HTTPField(name: .forwarded, value: "for=\(Self.node(address));proto=\(statedScheme)"),
        ]
    }
}

extension GatewayClient {
    /// Returns the client's protocol that a trusted proxy states in `X-Forwarded-Proto`: `http` or
    /// `https`; `nil` for anything else.
    static func scheme(claimedIn fields: HTTPFields) -> String? {
        switch fields[.xForwardedProto]?.lowercased() {
        case "https": "https"
        case "http": "http"
        default: nil
        }
    }

    /// Returns an address as a node of `Forwarded`. RFC 7239 §6
    static func node(_ address: String) -> String { address.contains(":") ? "\"[\(address)]\"" : address }

    /// Returns the address without white space, quotes, brackets and port.
    static func address(in node: Substring) -> String {
        let text = node.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[0]) : text
    }
}
