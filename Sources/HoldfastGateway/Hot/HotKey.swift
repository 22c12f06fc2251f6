import NIOCore

/// The key of a request in the hot table: requests with equal keys get the same response.
struct HotKey {
    /// All bytes of the request's head; of HTTP/2, ``HTTP2FieldSection/lookupKey``. Requests of
    /// clients with equal traits and equal heads are decoded, keyed and matched alike.
    let head: ByteBuffer
    /// The hash of the head, and the client's traits. Of equal heads, those of clients with
    /// different traits never have the same hash.
    let hash: Int
    /// ``CacheEngine/settingsVersion`` at which the client had those traits.
    let settings: UInt64
}

extension HotKey {
    init(_ head: ByteBuffer, of traits: ClientTraits, settings: UInt64) {
        self.init(head: head, hash: HotTable.hash(head) ^ traits.rawValue, settings: settings)
    }
}

/// The facts about a client, beside the bytes that it sends, on which a response may depend: a
/// stranger may send the bytes of a trusted proxy.
///
/// A response that depends on its address is not in the hot table:
/// ``GatewayService/suitsEveryClient(_:_:)``.
struct ClientTraits: OptionSet {
    let rawValue: Int

    /// Its statements about its own clients count.
    static let trusted = ClientTraits(rawValue: 1)
    /// It is connected by TLS, which origins are told.
    static let secure = ClientTraits(rawValue: 2)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ client: GatewayClient, in configuration: GatewayConfiguration) {
        self = client.isSecure ? .secure : []
        if client.isTrusted(by: configuration) { insert(.trusted) }
    }
}
