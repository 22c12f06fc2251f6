import CacheEviction
import HTTPCacheSemantics
import StoreFiles
import StoreMemory
import Synchronization

/// A store's secrets, created with it and kept in its database.
package struct StoreSecrets: Sendable {
    /// 16 bytes, the key for hashing keys.
    package var key: [UInt8]
    /// 32 bytes, the key for the HMAC of credentials.
    package var credential: [UInt8]

    package init(key: [UInt8], credential: [UInt8]) {
        self.key = key
        self.credential = credential
    }

    package static func random() -> StoreSecrets {
        var generator = SystemRandomNumberGenerator()
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        return StoreSecrets(key: bytes(16), credential: bytes(32))
    }
}

/// The state that the writer and the readers of one database share in memory.
final class DatabaseState: Sendable {
    let secrets: StoreSecrets
    let limits: StoreLimits
    let leases = LeaseTable()
    let commits = CommitCount()
    let recency: RecencyLog
    /// `nil` in a process that only reads, or if the configuration turns it off.
    let memory: MemoryTier?
    let pending = PendingWrites()
    /// The invalidations that pending writes and the memory tier are checked against.
    let known: KnownInvalidations
    /// Invalidations that this process could not write.
    let unwritten = UnwrittenInvalidations()
    /// `nil` in a process that only reads, because it does not know which keys are added.
    let filter: KeyFilter?
    let unfinished: SpaceReservation
    let damage = DamageLog()
    /// Responses with a smaller sequence number are treated as invalidated.
    let responseLowWaterMark: Atomic<Int64>
    /// Objects with a smaller sequence number are treated as expired.
    let objectLowWaterMark: Atomic<Int64>
    /// Responses with a smaller sequence number are treated as removed.
    let responseRemoved: Atomic<Int64>
    /// Objects with a smaller sequence number are treated as removed.
    let objectRemoved: Atomic<Int64>
    /// Whether there may be unfinished invalidations of tags or prefixes; always `true` if another
    /// process writes.
    ///
    /// The writer sets it before such an invalidation is committed. So a lookup that finds it unset
    /// began before the invalidation was in effect.
    let mayHavePending = Atomic(true)
    /// The schema version. In a process that only reads, it increases if the writing process
    /// migrates the store later.
    let schemaVersion: Atomic<Int32>

    /// The first schema with tags.
    static let tagSchemaVersion: Int32 = 2
    /// The first schema with pending removals of everything, pending invalidations of prefixes, and
    /// recorded damage.
    static let sweepSchemaVersion: Int32 = 3
    /// The first schema with causes of invalidations.
    static let causeSchemaVersion: Int32 = 4
    /// The first schema with a journal for other nodes.
    static let fleetSchemaVersion: Int32 = 5

    private let latest = Atomic<Int64>(0)
    /// The latest time at which an entry is known to have been stored.
    private let furthest: Atomic<Int64>
    private let nextID: Atomic<Int64>
    /// Whether any entry may have a tag.
    let usesTags: Atomic<Bool>
    private let sipHash: SipHash
    private let hashOverride: (@Sendable ([UInt8]) -> UInt64)?

    init?(
        limits: StoreLimits,
        row: DatabaseOpening.Row,
        isWriter: Bool,
        keyHash hashOverride: (@Sendable ([UInt8]) -> UInt64)?
    ) {
        guard let sipHash = SipHash(secret: row.secrets.key), row.secrets.credential.count >= 32 else { return nil }
        secrets = row.secrets
        self.limits = limits
        unfinished = SpaceReservation(limit: limits.unfinished)
        self.sipHash = sipHash
        self.hashOverride = hashOverride
        nextID = Atomic(row.nextID)
        furthest = Atomic(row.latestStored)
        usesTags = Atomic(row.hasTags)
        filter = isWriter ? KeyFilter(bytes: limits.filter) : nil
        known = KnownInvalidations(last: row.sequence)
        memory =
            isWriter && limits.memory > 0
            ? MemoryTier(budget: limits.memory, bodyLimit: limits.residentBody, known: known) : nil
        recency = RecencyLog(last: UseStamp(stored: row.recency).number, isExact: memory == nil)
        responseLowWaterMark = Atomic(row.responseLowWaterMark)
        objectLowWaterMark = Atomic(row.objectLowWaterMark)
        responseRemoved = Atomic(row.responseRemoved)
        objectRemoved = Atomic(row.objectRemoved)
        schemaVersion = Atomic(row.schemaVersion)
    }

    /// Returns a new number for an entry and its body. No number is used twice.
    func newID() -> Int64 { nextID.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Whether the schema has at least this version.
    func has(_ schemaVersion: Int32) -> Bool { self.schemaVersion.load(ordering: .acquiring) >= schemaVersion }

    func hash(_ bytes: [UInt8], _ domain: IndexDomain) -> Int64 {
        hashOverride.map { Int64(bitPattern: $0(bytes)) } ?? sipHash.indexHash(bytes, domain)
    }

    /// Sorts items by their hashes in the key index; items with the same key keep their order. A
    /// transaction with some of them then changes few index pages.
    func sortedForIndex<Item>(
        _ items: some Collection<Item>,
        _ domain: IndexDomain,
        key: (Item) -> [UInt8]
    ) -> [Item] {
        let items = Array(items)
        var places = items.indices.map { (hash: hash(key(items[$0]), domain), index: $0) }
        places.sort { ($0.hash, $0.index) < ($1.hash, $1.index) }
        return places.map { items[$0.index] }
    }

    /// The latest time that a call passed in. It is used as "last used", because a lookup receives
    /// no time of its own.
    var latestInstant: Int64 { latest.load(ordering: .relaxed) }

    func observe(_ instant: Timestamp) {
        latest.store(instant.milliseconds, ordering: .relaxed)
        if instant.milliseconds > furthest.load(ordering: .relaxed) {
            furthest.max(instant.milliseconds, ordering: .relaxed)
        }
    }

    /// Returns the time after which nothing can have been stored while the clock was right.
    ///
    /// It is `nil` if no entry is known to be stored later; then rows need not be checked. It
    /// ignores entries that were only freshened while the clock was ahead, because their rows do
    /// not show it. Lookups decode the head, which does.
    func horizon(at now: Timestamp) -> Int64? {
        let horizon = now.adding(milliseconds: Timestamp.clockTolerance).milliseconds
        return furthest.load(ordering: .relaxed) > horizon ? horizon : nil
    }

    /// Returns the hashes of a key's origin and principal.
    func wideHashes(of key: StoreKey) -> WideHashes {
        WideHashes(
            origin: hash(key.components.target.originBytes, .origin),
            owner: KeyOwner(key).map { hash($0.canonicalBytes, .owner) }
        )
    }
}
