import Synchronization

/// Tells of most keys that are not stored that they are not, without asking SQLite.
///
/// A Bloom filter in words of 64 bits, four of them for each key: it errs only towards "maybe".
/// What is stored is added before its commit. What was removed stays in it until it is built anew.
/// After opening it answers "maybe" to everything until every stored key has been read once.
final class KeyFilter: Sendable {
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
        /// What is being built, to take the place of `words`.
        var next: Words?
        var isWhole = false
        /// Keys removed since it was built.
        var removed = 0
        var inserted = 0
    }

    private let state: Mutex<State>
    private let wordCount: Int

    /// - Parameter bytes: its size; 64 at least.
    init(bytes: Int) {
        wordCount = max(8, bytes / 8)
        state = Mutex(State(words: Words(count: wordCount)))
    }

    var bytes: Int { wordCount * 8 }

    /// `false` when nothing is stored under a key with this hash.
    func mayContain(_ hash: Int64) -> Bool {
        let words = state.withLock { $0.isWhole ? $0.words : nil }
        return words?.mayContain(UInt64(bitPattern: hash)) ?? true
    }

    /// Adds a key, before the commit that makes it visible.
    func insert(_ hash: Int64) {
        let hash = UInt64(bitPattern: hash)
        state.withLock { state in
            state.inserted += 1
            state.words.insert(hash)
            state.next?.insert(hash)
        }
    }

    /// Notes that a key may be gone.
    ///
    /// - Returns: whether so many are that the filter should be built anew.
    func noteRemoval() -> Bool {
        state.withLock { state in
            state.removed += 1
            return state.isWhole && state.next == nil && state.removed > max(1024, wordCount)
        }
    }

    /// Begins to build it anew: every stored key has to be added with ``add(_:)``, then
    /// ``endBuilding()`` is to be called.
    func beginBuilding() {
        state.withLock { state in
            // The first time there is nothing that could be answered meanwhile.
            if state.isWhole { state.next = Words(count: wordCount) }
            state.removed = 0
        }
    }

    /// Adds keys that are stored.
    func add(_ hashes: some Sequence<Int64>) {
        let words = state.withLock { $0.next ?? $0.words }
        for hash in hashes { words.insert(UInt64(bitPattern: hash)) }
    }

    /// All stored keys have been added.
    func endBuilding() {
        state.withLock { state in
            if let next = state.next { state.words = next }
            state.next = nil
            state.isWhole = true
        }
    }

    /// Reading the stored keys failed: it is begun anew at another time.
    func abandonBuilding() {
        state.withLock { $0.next = nil }
    }

    /// Whether it can answer anything but "maybe".
    var isWhole: Bool { state.withLock { $0.isWhole } }
}
