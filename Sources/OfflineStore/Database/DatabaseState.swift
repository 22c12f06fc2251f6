import HTTPCacheSemantics
import Synchronization

/// The secrets of a store, made with it and kept in its database.
struct StoreSecrets: Sendable {
    /// 16 bytes for the hash of keys.
    var key: [UInt8]
    /// 32 bytes for the HMAC of credentials.
    var credential: [UInt8]

    static func random() -> StoreSecrets {
        var generator = SystemRandomNumberGenerator()
        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        }
        return StoreSecrets(key: bytes(16), credential: bytes(32))
    }
}

/// What the writer and the readers of one database share in memory.
final class DatabaseState: Sendable {
    /// What a hash is of; the same bytes in two domains have different hashes.
    enum Domain: UInt64 {
        case responseKey = 0
        case objectKey = 1
        case target = 2
        case tag = 3
        /// Scheme, host and port.
        case origin = 4
    }

    let secrets: StoreSecrets
    let limits: StoreLimits
    let leases = LeaseTable()
    let commits = CommitCount()
    let recency: RecencyLog
    /// `nil` in a process that reads alone, and where the configuration wants none.
    let memory: MemoryTier?
    let pending = PendingWrites()
    /// What in memory is compared with, with a memory tier and without.
    let ring: InvalidationRing
    /// `nil` in a process that reads alone: it does not see what is added.
    let filter: KeyFilter?
    let unfinished: SpaceReservation
    let damage = DamageLog()
    /// Responses stored under a smaller sequence number count as invalidated.
    let responseFloor: Atomic<Int64>
    /// Objects stored under a smaller sequence number count as expired.
    let objectFloor: Atomic<Int64>
    /// Responses stored under a smaller sequence number count as not there.
    let responseRemoved: Atomic<Int64>
    /// Objects stored under a smaller sequence number count as not there.
    let objectRemoved: Atomic<Int64>
    /// Whether there may be unfinished invalidations of tags or prefixes; where another process
    /// writes, always.
    ///
    /// The writer sets it before the commit of one, so a lookup that finds it unset began before
    /// that invalidation was over.
    let mayHavePending = Atomic(true)
    /// The schema's version; it grows when a process that reads alone came before the one that
    /// migrates.
    let schemaVersion: Atomic<Int32>

    /// The first schema with tags.
    static let tagSchemaVersion: Int32 = 2
    /// The first schema with pending removals of everything, pending invalidations of prefixes, and
    /// damage that is remembered.
    static let sweepSchemaVersion: Int32 = 3
    /// The first schema that knows why an entry was invalidated.
    static let causeSchemaVersion: Int32 = 4

    private let latest = Atomic<Int64>(0)
    /// The furthest instant that is known of: no entry is stored later, as far as this process
    /// knows.
    private let furthest: Atomic<Int64>
    private let nextID: Atomic<Int64>
    /// Whether any entry may carry a tag.
    let usesTags: Atomic<Bool>
    private let sipHash: SipHash
    private let seam: (@Sendable ([UInt8]) -> UInt64)?

    init?(
        limits: StoreLimits,
        row: DatabaseOpening.Row,
        isWriter: Bool,
        keyHash seam: (@Sendable ([UInt8]) -> UInt64)?
    ) {
        guard let sipHash = SipHash(secret: row.secrets.key), row.secrets.credential.count >= 32 else { return nil }
        secrets = row.secrets
        self.limits = limits
        unfinished = SpaceReservation(limit: limits.unfinished)
        self.sipHash = sipHash
        self.seam = seam
        nextID = Atomic(row.nextID)
        furthest = Atomic(row.latestStored)
        usesTags = Atomic(row.hasTags)
        filter = isWriter ? KeyFilter(bytes: limits.filter) : nil
        ring = InvalidationRing(last: row.sequence)
        memory =
            isWriter && limits.memory > 0
            ? MemoryTier(budget: limits.memory, bodyLimit: limits.residentBody, ring: ring) : nil
        recency = RecencyLog(last: row.recency, isExact: memory == nil)
        responseFloor = Atomic(row.responseFloor)
        objectFloor = Atomic(row.objectFloor)
        responseRemoved = Atomic(row.responseRemoved)
        objectRemoved = Atomic(row.objectRemoved)
        schemaVersion = Atomic(row.schemaVersion)
    }

    /// A number that was never given before, for an entry and its body.
    func newID() -> Int64 { nextID.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Whether the schema is at least of a version.
    func has(_ schemaVersion: Int32) -> Bool { self.schemaVersion.load(ordering: .acquiring) >= schemaVersion }

    func hash(_ bytes: [UInt8], _ domain: Domain) -> Int64 {
        Int64(bitPattern: seam?(bytes) ?? sipHash.hash(bytes, domain: domain.rawValue))
    }

    /// Things in the order in which the index of keys has them, those of one key as they came: one
    /// transaction of some then changes few of its pages, and not nearly all.
    func inIndexOrder<Item>(
        _ items: some Collection<Item>,
        _ domain: Domain,
        key: (Item) -> [UInt8]
    ) -> [Item] {
        let items = Array(items)
        var places = items.indices.map { (hash: hash(key(items[$0]), domain), index: $0) }
        places.sort { ($0.hash, $0.index) < ($1.hash, $1.index) }
        return places.map { items[$0.index] }
    }

    /// The latest instant that anybody passed in: what "last used" says, since a lookup passes
    /// none.
    var latestInstant: Int64 { latest.load(ordering: .relaxed) }

    func observe(_ instant: Timestamp) {
        latest.store(instant.milliseconds, ordering: .relaxed)
        if instant.milliseconds > furthest.load(ordering: .relaxed) {
            furthest.max(instant.milliseconds, ordering: .relaxed)
        }
    }

    /// The instant after which nothing can have been stored while the clock was right; `nil` where
    /// no entry is known that was stored later, so that no row need be asked for it.
    ///
    /// Entries that were only freshened while the clock was ahead are not known here: their rows do
    /// not say when. Lookups decode the head, which does.
    func horizon(at now: Timestamp) -> Int64? {
        let horizon = now.adding(milliseconds: Timestamp.clockTolerance).milliseconds
        return furthest.load(ordering: .relaxed) > horizon ? horizon : nil
    }
}
