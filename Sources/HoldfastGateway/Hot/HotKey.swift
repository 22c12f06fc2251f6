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
