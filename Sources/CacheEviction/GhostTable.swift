/// The keys of entries that were evicted from disk recently, with their uses, in a table of fixed
/// size.
///
/// A ghost takes 8 bytes: 24 bits of its key, 4 bits of uses, the time of its last use, and the
/// number of evictions before its own. Eight ghosts share a bucket, in which a new ghost replaces
/// the oldest. Two keys with the same bits share their uses.
struct GhostTable: Sendable {
    struct Ghost: Equatable {
        /// In quarters of a use.
        var quarters: Int
        /// The time since its last use, in steps of 64.
        var age: Int64
        /// The evictions since its own, in steps of 16.
        var evictions: Int64
    }

    /// The present position in the order of use, and the number of evictions.
    struct Moment {
        var number: Int64
        var evictions: Int64
    }

    private static let width = 8
    private static let numberStep: Int64 = 64
    private static let evictionStep: Int64 = 16

    /// 0 is an empty place. From the highest bit on: the tag, uses, evictions, last use.
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
    mutating func take(_ key: Int64, now: Moment) -> Ghost? {
        let (bucket, tag) = place(of: key)
        for index in bucket..<bucket + Self.width where places[index] >> 40 == tag {
            let ghost = Self.ghost(places[index], now)
            places[index] = 0
            return ghost
        }
        return nil
    }

    /// Adds a ghost of an entry that is evicted now.
    ///
    /// - Parameter lastUse: the position of its last use.
    mutating func add(_ key: Int64, quarters: Int, lastUse: Int64, now: Moment) {
        let (bucket, tag) = place(of: key)
        var chosen = bucket
        for index in bucket..<bucket + Self.width {
            if places[index] == 0 || places[index] >> 40 == tag {
                chosen = index
                break
            }
            let age = Self.ghost(places[index], now).evictions
            if age > Self.ghost(places[chosen], now).evictions { chosen = index }
        }
        let evictions = UInt64(truncatingIfNeeded: now.evictions / Self.evictionStep & 0xFFFF)
        let number = UInt64(truncatingIfNeeded: lastUse / Self.numberStep & 0xF_FFFF)
        places[chosen] = tag << 40 | UInt64(clamping: quarters & 15) << 36 | evictions << 20 | number
    }

    private func place(of key: Int64) -> (bucket: Int, tag: UInt64) {
        // Key hashes are secret and random, but their low bits choose other things too.
        let hash = UInt64(bitPattern: key) &* 0x9E37_79B9_7F4A_7C15
        // A tag is never 0, which is an empty place.
        return (Int(truncatingIfNeeded: (hash >> 8) & mask) * Self.width, max(1, hash >> 40))
    }

    private static func ghost(_ place: UInt64, _ now: Moment) -> Ghost {
        let evictions = Int64(truncatingIfNeeded: place >> 20 & 0xFFFF)
        let number = Int64(truncatingIfNeeded: place & 0xF_FFFF)
        return Ghost(
            quarters: Int(truncatingIfNeeded: place >> 36 & 15),
            age: (now.number / numberStep &- number) & 0xF_FFFF * numberStep,
            evictions: (now.evictions / evictionStep &- evictions) & 0xFFFF * evictionStep
        )
    }
}
