/// The kind of thing whose hash is in an index. The same bytes in two domains have different
/// hashes.
package enum IndexDomain: UInt64, Sendable {
    case responseKey = 0
    case objectKey = 1
    case target = 2
    case tag = 3
    /// Scheme, host and port.
    case origin = 4
    /// The principal that a key belongs to.
    case owner = 5
}

extension SipHash {
    /// Returns the hash of some bytes as stored in an index.
    package func indexHash(_ bytes: [UInt8], _ domain: IndexDomain) -> Int64 {
        Int64(bitPattern: hash(bytes, domain: domain.rawValue))
    }
}
