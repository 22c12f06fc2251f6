import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration

/// The rights that a client has because of its address.
extension GatewayClient {
    /// Whether the client may state the addresses and other facts of its own clients.
    func isTrusted(by configuration: GatewayConfiguration) -> Bool {
        hasOwnAddress && configuration.isTrusted(address)
    }

    /// Returns the scheme that the client used: `http` or `https`. A trusted proxy states it for
    /// its own clients.
    func scheme(of fields: HTTPFields, by configuration: GatewayConfiguration) -> String {
        claimedScheme(of: fields, by: configuration) ?? scheme
    }

    /// Returns the scheme that the origin is told: ``statedScheme``, unless a trusted proxy states
    /// another one for its own clients.
    func statedScheme(of fields: HTTPFields, by configuration: GatewayConfiguration) -> String {
        claimedScheme(of: fields, by: configuration) ?? statedScheme
    }

    private func claimedScheme(of fields: HTTPFields, by configuration: GatewayConfiguration) -> String? {
        isTrusted(by: configuration) ? Self.scheme(claimedIn: fields) : nil
    }

    /// Whether the client may purge, if it also has a token.
    func mayPurge(by configuration: GatewayConfiguration) -> Bool {
        guard hasOwnAddress, let address else { return false }
        return configuration.purgers.contains { $0.contains(address) }
    }
}

/// Facts about a client that a response may depend on, in addition to the bytes that the client
/// sends. An unknown client may send the same bytes as a trusted proxy.
///
/// A response that depends on the client's address is not in the hot table: ``HotBypass``.
struct ClientTraits: OptionSet {
    let rawValue: Int

    /// The client is trusted to make statements about its own clients.
    static let trusted = ClientTraits(rawValue: 1)
    /// The client is connected over TLS, and origins are told so.
    static let secure = ClientTraits(rawValue: 2)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ client: GatewayClient, in configuration: GatewayConfiguration) {
        self = client.isSecure ? .secure : []
        if client.isTrusted(by: configuration) { insert(.trusted) }
    }
}

/// The clients of trusted clients.
extension GatewayClient {
    /// Returns the address that a trusted client states for the client of its request; `nil` if it
    /// states none.
    ///
    /// The last address in the list is the nearest. The first untrusted address from the end is the
    /// client: everything to its left may be forged.
    static func address(behind fields: HTTPFields, _ configuration: GatewayConfiguration) -> String? {
        forwardedNodes(fields).last { !configuration.isTrusted($0) }.map { AddressRange.plain($0) }
    }

    /// Whether the client, and all clients that it names as those of its request, are trusted. A
    /// proxy that names no client makes the request for itself.
    func isTrusted(withAll fields: HTTPFields, by configuration: GatewayConfiguration) -> Bool {
        isTrusted(by: configuration) && Self.address(behind: fields, configuration) == nil
    }

    /// Returns the addresses in `X-Forwarded-For`, or otherwise in `Forwarded` (RFC 7239 §4), in
    /// order.
    private static func forwardedNodes(_ fields: HTTPFields) -> [String] {
        if fields.contains(.xForwardedFor) {
            return fields[values: .xForwardedFor].flatMap { $0.split(separator: ",") }.map { address(in: $0) }
        }
        return fields[values: .forwarded].flatMap { $0.split(separator: ",") }.compactMap { element in
            element.split(separator: ";").lazy.map { $0.drop { $0 == " " || $0 == "\t" } }
                .first { $0.prefix(4).lowercased() == "for=" }
                .map { address(in: $0.dropFirst(4)) }
        }
    }
}
