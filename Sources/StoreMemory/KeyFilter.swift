import Synchronization

/// A filter that recognizes most keys without an entry, without reading SQLite.
///
/// It is a Bloom filter of 64-bit words, with four bits in one word per key. It can err only toward
/// "maybe". A key is added before its entry is committed. A removed key stays until the filter is
/// rebuilt. After the store is opened, the filter returns "maybe" for every key, until every stored
/// key has been read once.
package final class KeyFilter: Sendable {
    private final class Words: @unchecked Sendable {
        // `@unchecked Sendable`: the words are atomics, and the pointer is set once.
        let base: UnsafeMutablePointer<Atomic<UInt64>>
        let count: Int

        init(count: Int) {
            self.count = count
            base = .allocate(capacity: count)
            for index in 0..<count { (base + index).initialize(to: Atomic(0)) }
        }

        deinit {
            base.deinitialize(count: count)
            base.deallocate()
        }

        func insert(_ hash: UInt64) {
            base[Self.word(hash, count)].bitwiseOr(Self.mask(hash), ordering: .relaxed)
        }

        func mayContain(_ hash: UInt64) -> Bool {
            let mask = Self.mask(hash)
            return base[Self.word(hash, count)].load(ordering: .relaxed) & mask == mask
        }

        private static func word(_ hash: UInt64, _ count: Int) -> Int {
            Int(truncatingIfNeeded: (hash >> 24).multipliedFullWidth(by: UInt64(count) << 24).high)
        }

        private static func mask(_ hash: UInt64) -> UInt64 {
            1 << (hash & 63) | 1 << (hash >> 6 & 63) | 1 << (hash >> 12 & 63) | 1 << (hash >> 18 & 63)
        }
    }

    private struct State {
        var words: Words
        /// The words of a filter being built, which will replace `words`.
        var next: Words?
        var isWhole = false
        /// The number of keys removed since the filter was last built.
        var removed = 0
        var inserted = 0
    }

    private let state: Mutex<State>
    private let wordCount: Int

    /// - Parameter bytes: the filter's size; at least 64 bytes are used.
    package init(bytes: Int) {
        wordCount = max(8, bytes / 8)
        state = Mutex(State(words: Words(count: wordCount)))
    }

    package var bytes: Int { wordCount * 8 }

    /// Returns whether something may be stored under a key with this hash. `false` is certain.
    package func mayContain(_ hash: Int64) -> Bool {
        let words = state.withLock { $0.isWhole ? $0.words : nil }
        return words?.mayContain(UInt64(bitPattern: hash)) ?? true
    }

    /// Adds a key, before the commit that makes it visible.
    package func insert(_ hash: Int64) {
        let hash = UInt64(bitPattern: hash)
        state.withLock { state in
            state.inserted += 1
            state.words.insert(hash)
            state.next?.insert(hash)
        }
    }

    /// Records that a key may no longer exist.
    ///
    /// - Returns: whether enough keys have been removed that the filter should be rebuilt.
    package func noteRemoval() -> Bool {
        state.withLock { state in
            state.removed += 1
            return state.isWhole && state.next == nil && state.removed > max(1024, wordCount)
        }
    }

    /// Begins a build or rebuild. The caller then adds every stored key with ``add(_:)``, and calls
    /// ``endBuilding()``.
    package func beginBuilding() {
        state.withLock { state in
            // During the first build, the filter returns "maybe" for everything.
            if state.isWhole { state.next = Words(count: wordCount) }
            state.removed = 0
        }
    }

    /// Adds keys that are stored.
    package func add(_ hashes: [Int64]) {
        let words = state.withLock { $0.next ?? $0.words }
        for hash in hashes { words.insert(UInt64(bitPattern: hash)) }
    }

    /// Ends a build, after all stored keys were added.
    package func endBuilding() {
        state.withLock { state in
            if let next = state.next { state.words = next }
            state.next = nil
            state.isWhole = true
        }
    }

    /// Ends a build because reading the stored keys failed. A later build starts again.
    package func abandonBuilding() {
        state.withLock { $0.next = nil }
    }

    /// Whether the filter can return anything other than "maybe".
    package var isWhole: Bool { state.withLock { $0.isWhole } }
}
