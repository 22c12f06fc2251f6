import NIOCore
import Synchronization

/// The writer's connection inside one transaction, and what has to happen when it has ended.
///
/// Not sendable: it lives on the writer's queue for the time of one transaction.
final class WriteContext {
    /// Numbers that are set aside at a time, so that counting them is not a write for each.
    private static let reservation: Int64 = 4096

    let connection: Connection
    let state: DatabaseState
    let memory: WriterMemory

    /// The number of the last invalidation in this transaction.
    private(set) var invalidation: Int64?
    private(set) var responseFloor: Int64?
    private(set) var objectFloor: Int64?
    private(set) var claims: [Int64] = []
    private var pardons: [Int64] = []
    private var addsGarbage = false
    private var removesContent = false
    private var invalidatesTags = false

    init(connection: Connection, state: DatabaseState, memory: WriterMemory) {
        self.connection = connection
        self.state = state
        self.memory = memory
    }

    // MARK: Numbers

    /// A number that was never given before, for an entry and its body.
    func newID() throws -> Int64 {
        if memory.nextID >= memory.reservedID {
            let reserved = memory.nextID + Self.reservation
            try connection.run("UPDATE store SET next_id = ?1 WHERE id = 1", reserved)
            memory.reservedID = reserved
        }
        defer { memory.nextID += 1 }
        return memory.nextID
    }

    /// The number of the last invalidation, and the last one that the log no longer holds.
    func sequence() throws -> (last: Int64, logFloor: Int64) {
        let statement = try connection.prepare("SELECT sequence, log_floor FROM store WHERE id = 1")
        defer { statement.reset() }
        guard try statement.step() else { throw Self.missingRow }
        return (statement.integer(0), statement.integer(1))
    }

    static let missingRow = SQLiteFailure(code: 11, message: "the table 'store' has no row")

    func noteInvalidation(_ number: Int64) { invalidation = number }
    func noteFloors(response: Int64? = nil, object: Int64? = nil) {
        if let response { responseFloor = response }
        if let object { objectFloor = object }
    }

    // MARK: Bodies

    /// Writes octets of a body as chunks, the first of them at `index`.
    func insertChunks(of bodyID: Int64, from index: Int, _ octets: ByteBuffer) throws {
        let statement = try connection.prepare("INSERT INTO chunk (id, checksum, data) VALUES (?1, ?2, ?3)")
        try octets.withUnsafeReadableBytes { octets in
            var index = Int64(index)
            var offset = 0
            while offset < octets.count {
                let end = min(offset + StoreLimits.chunkLength, octets.count)
                let chunk = UnsafeRawBufferPointer(rebasing: octets[offset..<end])
                let id = bodyID << 16 | index
                statement.bind(1, id)
                statement.bind(2, Int64(bitPattern: XXHash64.hash(chunk, seed: UInt64(bitPattern: id))))
                try statement.run(binding: chunk, at: 3)
                offset = end
                index += 1
            }
        }
    }

    /// Notes a body that has chunks but no entry yet: a crash leaves it to the sweep.
    func beginUnfinished(_ bodyID: Int64) throws {
        try connection.run("INSERT INTO garbage (body_id) VALUES (?1)", bodyID)
    }

    /// The body has an entry now.
    func endUnfinished(_ bodyID: Int64) throws {
        try connection.run("DELETE FROM garbage WHERE body_id = ?1", bodyID)
        pardons.append(bodyID)
    }

    /// Removes a body that no entry names: at once when it is small and nobody reads it, else through the sweep.
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

    /// Claims a body for removal until the transaction has ended.
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
    func requestTagSweep() { invalidatesTags = true }

    // MARK: The end

    /// Makes memory agree with what was committed.
    func committed() {
        if let responseFloor { state.responseFloor.store(responseFloor, ordering: .releasing) }
        if let objectFloor { state.objectFloor.store(objectFloor, ordering: .releasing) }
        for bodyID in pardons { state.leases.pardon(bodyID) }
        state.leases.endClaims(claims)
        if addsGarbage { memory.wantsSweep = true }
        if removesContent, state.limits.securelyDeletes { memory.wantsErasure = true }
        if invalidatesTags { memory.wantsTagSweep = true }
    }

    /// Forgets what a rolled-back transaction noted.
    func rolledBack() {
        state.leases.endClaims(claims)
        memory.reservedID = memory.nextID
    }

    /// What was noted so far, to go back to when one operation fails.
    struct Mark {
        fileprivate var invalidation: Int64?
        fileprivate var responseFloor: Int64?
        fileprivate var objectFloor: Int64?
        fileprivate var claims: Int
        fileprivate var pardons: Int
    }

    func mark() -> Mark {
        Mark(
            invalidation: invalidation,
            responseFloor: responseFloor,
            objectFloor: objectFloor,
            claims: claims.count,
            pardons: pardons.count
        )
    }

    func rollBack(to mark: Mark) {
        invalidation = mark.invalidation
        responseFloor = mark.responseFloor
        objectFloor = mark.objectFloor
        state.leases.endClaims(claims[mark.claims...])
        claims.removeLast(claims.count - mark.claims)
        pardons.removeLast(pardons.count - mark.pardons)
        memory.reservedID = memory.nextID
    }
}
