import NIOCore
import StoreMemory
import Synchronization

/// The writer's connection inside one transaction, and the effects to apply after it ends.
///
/// Not sendable: it is used on the writer's queue during one transaction.
final class WriteContext {
    /// How many numbers are reserved at a time, so that most new numbers need no write.
    private static let reservation: Int64 = 4096

    let connection: Connection
    let state: DatabaseState
    let memory: WriterMemory

    /// The number of the last invalidation in this transaction.
    private(set) var invalidation: Int64?
    private(set) var responseLowWaterMark: Int64?
    private(set) var objectLowWaterMark: Int64?
    private var responseRemoved: Int64?
    private var objectRemoved: Int64?
    private(set) var claims: [Int64] = []
    /// Whether the journal has more to publish after this transaction.
    var addsToJournal = false
    private var finishedBodies: [Int64] = []
    /// The changed byte sums of tags.
    var tagBytes = TagBytes()
    private var tagsBeyondQuota: [TagName] = []
    private var addsGarbage = false
    private var removesContent = false
    private var invalidatesTags = false
    private var invalidatesEntries = false
    private var reservedID: Int64
    /// The changes to the memory tier, in order.
    private var changes: [MemoryTier.Change] = []
    private var invalidations: [CommittedInvalidation] = []
    /// Invalidations that were already in effect and are written by this transaction.
    var writtenLate: [UnwrittenInvalidations.Record] = []
    /// The number that the next invalidation must take, because it was published with it.
    var publishedNumber: Int64?

    init(connection: Connection, state: DatabaseState, memory: WriterMemory) {
        self.connection = connection
        self.state = state
        self.memory = memory
        reservedID = memory.reservedID
    }

    // MARK: Numbers

    /// Returns a new number for an entry and its body. No number is used twice.
    func newID() throws -> Int64 {
        let id = state.newID()
        try reserve(id)
        return id
    }

    /// Reserves a number that was assigned in memory, so that it is never assigned again.
    func reserve(_ id: Int64) throws {
        guard id >= reservedID else { return }
        reservedID = id + Self.reservation
        try connection.run("UPDATE store SET next_id = ?1 WHERE id = 1", reservedID)
    }

    /// The number of the last invalidation, including this transaction.
    var lastSequence: Int64 { max(invalidation ?? 0, memory.sequence) }

    /// Returns the number of the last invalidation, and the last number that the log no longer
    /// holds.
    func sequence() throws -> (last: Int64, logLowWaterMark: Int64) {
        let statement = try connection.prepare("SELECT sequence, log_floor FROM store WHERE id = 1")
        defer { statement.reset() }
        guard try statement.step() else { throw Self.missingRow }
        return (statement.integer(0), statement.integer(1))
    }

    static let missingRow = SQLiteFailure(code: 11, message: "the table 'store' has no row")

    func noteInvalidation(_ number: Int64, _ scope: LogScope, hash: Int64) {
        invalidation = max(number, invalidation ?? number)
        invalidations.append(CommittedInvalidation(number: number, scope: scope, hash: hash))
    }

    /// Records that the entries of a key changed.
    func noteChange(_ change: MemoryTier.Change) {
        if state.memory != nil { changes.append(change) }
    }

    func noteLowWaterMarks(response: Int64? = nil, object: Int64? = nil) {
        if let response { responseLowWaterMark = response }
        if let object { objectLowWaterMark = object }
    }
    func noteRemovals(response: Int64? = nil, object: Int64? = nil) {
        if let response { responseRemoved = response }
        if let object { objectRemoved = object }
    }

    /// Responses with a smaller sequence number count as invalidated, including changes of this
    /// transaction.
    var currentLowWaterMark: Int64 { responseLowWaterMark ?? state.responseLowWaterMark.load(ordering: .acquiring) }

    /// Returns the number below which entries of a kind count as removed, including changes of this
    /// transaction.
    func removalLowWaterMark(_ kind: EntryKind) -> Int64 {
        switch kind {
        case .response: responseRemoved ?? state.removalLowWaterMark(.response)
        case .object: objectRemoved ?? state.removalLowWaterMark(.object)
        }
    }

    // MARK: Bodies

    /// Inserts the chunks of a body.
    func insert(_ chunks: ChunkRows) throws {
        if chunks.count == 0 { return }
        let statement = try connection.prepare("INSERT INTO chunk (id, checksum, data) VALUES (?1, ?2, ?3)")
        try chunks.bytes.withUnsafeBytes { bytes in
            for index in 0..<chunks.count {
                statement.bind(1, chunks.firstID + Int64(index))
                statement.bind(2, Int64(bitPattern: chunks.checksum(index)))
                try statement.run(binding: ChunkRows.chunk(bytes, index), at: 3)
            }
        }
    }

    /// Records a body that has chunks but no entry yet, so that the sweep removes it after a crash.
    func beginUnfinished(_ bodyID: Int64) throws {
        try connection.run("INSERT INTO garbage (body_id) VALUES (?1)", bodyID)
    }

    /// Records that the body now has an entry.
    func endUnfinished(_ bodyID: Int64) throws {
        try connection.run("DELETE FROM garbage WHERE body_id = ?1", bodyID)
        finishedBodies.append(bodyID)
    }

    /// Removes a body without an entry: immediately if it is small and not being read, otherwise
    /// through the sweep.
    func discardBody(_ bodyID: Int64, length: Int64) throws {
        removesContent = true
        if length == 0 { return }
        if length <= StoreLimits.chunkLength, state.leases.claim(bodyID) {
            claims.append(bodyID)
            try connection.run("DELETE FROM chunk WHERE id = ?1", bodyID << 16)
        } else {
            try connection.run("INSERT OR IGNORE INTO garbage (body_id) VALUES (?1)", bodyID)
            addsGarbage = true
        }
    }

    /// Claims a body for removal until the transaction ends.
    func claim(_ bodyID: Int64) -> Bool {
        removesContent = true
        guard state.leases.claim(bodyID) else { return false }
        claims.append(bodyID)
        return true
    }

    func requestSweep() {
        addsGarbage = true
        removesContent = true
    }
    func requestTagSweep() {
        state.mayHavePending.store(true, ordering: .releasing)
        invalidatesTags = true
    }
    func requestEntrySweep() {
        state.mayHavePending.store(true, ordering: .releasing)
        invalidatesEntries = true
    }
    /// Records that a row's content was removed, which the log may still contain.
    func noteRemovedContent() { removesContent = true }
    func noteBeyondQuota(_ tag: TagName) { tagsBeyondQuota.append(tag) }

    /// Records that a body that should be removed is being read. Its bytes are not free until the
    /// reader finishes.
    func noteHeld(_ bodyID: Int64) throws {
        guard state.leases.isUnmeasured(bodyID) else { return }
        let (first, last) = (bodyID << 16, bodyID << 16 | 0xffff)
        let lowest = try connection.integer("SELECT min(id) FROM chunk WHERE id BETWEEN ?1 AND ?2", first, last)
        let highest = try connection.integer("SELECT max(id) FROM chunk WHERE id BETWEEN ?1 AND ?2", first, last)
        guard let lowest, let highest else { return }
        let end = try connection.integer("SELECT length(data) FROM chunk WHERE id = ?1", highest) ?? 0
        state.leases.noteHeld(bodyID, bytes: (highest - lowest) * Int64(StoreLimits.chunkLength) + end)
    }

    // MARK: The end

    /// Applies the effects of the committed transaction to the shared state.
    func applyCommit() {
        assert(tagBytes.isEmpty, "the bytes under tags were not written before the commit: see writeTagBytes()")
        for tag in tagsBeyondQuota { memory.quotas.add(tag) }
        memory.sequence = lastSequence
        memory.reservedID = reservedID
        if let responseLowWaterMark { state.responseLowWaterMark.store(responseLowWaterMark, ordering: .releasing) }
        if let objectLowWaterMark { state.objectLowWaterMark.store(objectLowWaterMark, ordering: .releasing) }
        if let responseRemoved { state.responseRemoved.store(responseRemoved, ordering: .releasing) }
        if let objectRemoved { state.objectRemoved.store(objectRemoved, ordering: .releasing) }
        if !invalidations.isEmpty { state.known.append(invalidations) }
        if !writtenLate.isEmpty { state.unwritten.remove(writtenLate) }
        state.memory?.apply(changes)
        for bodyID in finishedBodies { state.leases.markFinished(bodyID) }
        state.leases.endClaims(claims)
        if addsGarbage { memory.wantsSweep = true }
        if removesContent, state.limits.securelyDeletes { memory.wantsErasure = true }
        if invalidatesTags { memory.wantsTagSweep = true }
        if invalidatesEntries { memory.wantsEntrySweep = true }
    }

    /// Drops the recorded effects of a rolled-back transaction.
    func dropEffects() {
        state.leases.endClaims(claims)
    }
}
