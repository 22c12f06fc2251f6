/// The keys of entries that were evicted from disk recently, with their uses, in a table of fixed
/// size.
///
/// A ghost takes 8 bytes: 28 bits of its key, 4 bits of uses and the time of its last use. Eight
/// ghosts share a bucket, in which a new ghost replaces the oldest. Two keys with the same bits
/// share their uses.
struct GhostTable: Sendable {
    struct Ghost: Equatable {
        /// In quarters of a use.
        var quarters: Int
        /// The low bits of the position of the last use.
        var lastUse: UInt32
    }

    private static let width = 8

    /// 0 is an empty place.
    private var places: [UInt64]
    private let mask: UInt64

    /// - Parameter capacity: the number of ghosts; rounded up to a power of two.
    init(capacity: Int) {
        var buckets = 1
        while buckets * Self.width < capacity { buckets *= 2 }
        places = [UInt64](repeating: 0, count: buckets * Self.width)
        mask = UInt64(clamping: buckets - 1)
    }

    var bytes: Int { places.count * MemoryLayout<UInt64>.stride }

    /// Removes and returns a ghost.
    mutating func take(_ key: Int64) -> Ghost? {
        let (bucket, tag) = place(of: key)
        for index in bucket..<bucket + Self.width where places[index] >> 36 == tag {
            let ghost = Self.ghost(places[index])
            places[index] = 0
            return ghost
        }
        return nil
    }

    /// Adds a ghost.
    ///
    /// - Parameter now: the low bits of the present position.
    mutating func add(_ key: Int64, _ ghost: Ghost, now: UInt32) {
        let (bucket, tag) = place(of: key)
        var chosen = bucket
        for index in bucket..<bucket + Self.width {
            if places[index] == 0 || places[index] >> 36 == tag {
                chosen = index
                break
            }
            if now &- Self.ghost(places[index]).lastUse > now &- Self.ghost(places[chosen]).lastUse { chosen = index }
        }
        places[chosen] = tag << 36 | UInt64(clamping: ghost.quarters & 15) << 32 | UInt64(clamping: ghost.lastUse)
    }

    private func place(of key: Int64) -> (bucket: Int, tag: UInt64) {
        // Key hashes are secret and random, but their low bits choose other things too.
        let hash = UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
        // A tag is never 0, which is an empty place.
        return (Int(truncatingIfNeeded: (hash >> 8) & mask) * Self.width, max(1, hash >> 36))
    }

    private static func ghost(_ place: UInt64) -> Ghost {
        Ghost(quarters: Int(truncatingIfNeeded: (place >> 32) & 15), lastUse: UInt32(truncatingIfNeeded: place))
    }
}
