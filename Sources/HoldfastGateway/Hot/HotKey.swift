import NIOCore

/// A request's key in the hot table. Requests with equal keys get the same response.
struct HotKey {
    /// All bytes of the request's head; for HTTP/2, ``HTTP2FieldSection/lookupKey``. Requests with
    /// equal heads from clients with equal traits are decoded, keyed and matched the same way.
    let head: ByteBuffer
    /// The hash of the head and the client's traits. Equal heads from clients with different traits
    /// never have the same hash.
    let hash: Int
    /// The ``CacheEngine/settingsVersion`` at which the client had these traits.
    let settings: UInt64
}

extension HotKey {
    init(_ head: ByteBuffer, of traits: ClientTraits, settings: UInt64) {
        self.init(head: head, hash: HotTable.hash(head) ^ traits.rawValue, settings: settings)
    }
}

/// Facts about a client that a response may depend on, in addition to the bytes that the client
/// sends. An unknown client may send the same bytes as a trusted proxy.
///
/// A response that depends on the client's address is not in the hot table:
/// ``GatewayService/suitsEveryClient(_:_:)``.
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
