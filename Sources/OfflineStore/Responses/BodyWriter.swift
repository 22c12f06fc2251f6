import HTTPCache
import NIOCore
import Synchronization

/// Takes a body of unknown length to disk: in memory while it is small, in transactions of at most
/// 4 MiB when it grows.
///
/// Appending is one task's; reading back may be done by many at the same time.
final class BodyWriter: Sendable {
    private struct State {
        /// Bytes on disk; whole chunks until the body is finished.
        var written: Int64 = 0
        /// What follows them.
        var tail = ByteBuffer()
        var body: (id: Int64, lease: Lease)?
        var failure: StoreError?
        /// Room taken for what is on disk before there is an entry.
        var reserved: Int64
    }

    let core: StoreCore
    let database: StoreDatabase
    /// Made when a message needs it.
    private let describe: @Sendable () -> String
    private let state: Mutex<State>

    /// - Parameters:
    ///   - reserved: bytes for which the caller took room already; they are this writer's to give
    ///     back.
    ///   - describe: what is written, for messages.
    init(core: StoreCore, database: StoreDatabase, reserved: Int64, describe: @escaping @Sendable () -> String) {
        self.core = core
        self.database = database
        self.describe = describe
        state = Mutex(State(reserved: reserved))
    }

    deinit { releaseRoom() }

    private func releaseRoom() {
        let reserved = state.withLock { state in
            defer { state.reserved = 0 }
            return state.reserved
        }
        database.state.unfinished.release(reserved)
    }

    /// Sees that there is room for the body as far as it goes to disk with the next step.
    private func takeRoom(for length: Int64) throws {
        let missing = state.withLock { length - $0.reserved }
        if missing <= 0 { return }
        guard database.state.unfinished.reserve(missing) else {
            throw StoreError(
                code: .busy,
                message: "\(describe()) is not stored: bodies that are being stored now take the whole "
                    + "\(database.state.limits.unfinished) bytes there are for them. Try again, or raise 'budget'."
            )
        }
        state.withLock { $0.reserved += missing }
    }

    var length: Int64 { state.withLock { $0.written + Int64($0.tail.readableBytes) } }

    /// Takes the next bytes; writes what has gathered when it is enough for a transaction.
    func append(_ chunk: ByteBuffer) async throws {
        let limits = database.state.limits
        let isDue = try state.withLock { state in
            if let failure = state.failure { throw failure }
            let length = state.written + Int64(state.tail.readableBytes) + Int64(chunk.readableBytes)
            if length > limits.maximumObject {
                let error = Self.tooLarge(describe(), length: length, limits: limits)
                state.failure = error
                throw error
            }
            state.tail.writeImmutableBuffer(chunk)
            return state.tail.readableBytes >= limits.transaction
        }
        if isDue { try await flush() }
    }

    /// Writes what has gathered, in whole chunks, as much as one transaction takes at a time.
    private func flush() async throws {
        let limit = database.state.limits.transaction
        while true {
            let step = state.withLock { state -> (bytes: ByteBuffer, from: Int64, bodyID: Int64, isBegun: Bool)? in
                guard state.tail.readableBytes >= limit,
                    let bytes = state.tail.getSlice(at: state.tail.readerIndex, length: limit)
                else { return nil }
                return (bytes, state.written, state.body?.id ?? database.state.newID(), state.body != nil)
            }
            guard let step else { return }
            let bodyID = step.bodyID
            let chunks = ChunkRows(bodyID: bodyID, from: Int(step.from) / StoreLimits.chunkLength, .buffer(step.bytes))
            do {
                try takeRoom(for: step.from + Int64(limit))
                let begun = try await core.write(to: database, bytes: limit) {
                    [leases = database.state.leases] context in
                    try context.insert(chunks)
                    if step.isBegun { return nil as Lease? }
                    try context.reserve(bodyID)
                    guard let lease = leases.acquire(bodyID, isCondemned: true) else { throw WriteContext.missingRow }
                    try context.beginUnfinished(bodyID)
                    return lease
                }
                state.withLock { state in
                    if let begun { state.body = (bodyID, begun) }
                    state.written += Int64(limit)
                    state.tail.moveReaderIndex(forwardBy: limit)
                    state.tail.discardReadBytes()
                }
            } catch let error as StoreError {
                state.withLock { $0.failure = error }
                throw error
            }
        }
    }

    /// From when on readers see what is stored.
    enum Visibility: Sendable {
        /// When it is committed.
        case committed
        /// While it is written.
        case pending
        /// While it is written, unless an invalidation after this one is about it.
        case fenced(Int64)
    }

    /// What makes a body visible, and what its writer answers with.
    struct Ending<Value: Sendable>: Sendable {
        var draft: EntryDraft
        var value: Value
        var visibility: Visibility
        /// Asked inside the transaction; `false` leaves the body to the sweep.
        var isAllowed: @Sendable (WriteContext) throws -> Bool
    }

    /// Writes the rest and, in the same commit, the entry that makes the body visible.
    ///
    /// - Parameters:
    ///   - overhead: bytes that are written beside the body.
    ///   - mayRunHere: on the calling thread, if the writer has nothing else to do.
    ///   - ending: makes the entry, given the body's number and length, and the body if it is in
    ///     memory as a whole.
    /// - Returns: the ending's value, or `nil` when it was not allowed.
    func finish<Value: Sendable>(
        carrying overhead: Int = 0,
        mayRunHere: Bool = false,
        _ ending: (_ bodyID: Int64, _ length: Int64, _ whole: ByteBuffer?) -> Ending<Value>
    ) async throws -> Value? {
        let (rest, written, begun) = try state.withLock { state in
            if let failure = state.failure { throw failure }
            return (state.tail, state.written, state.body?.id)
        }
        let length = written + Int64(rest.readableBytes)
        let leases = database.state.leases
        let bodyID = begun ?? database.state.newID()
        let ending = ending(bodyID, length, begun == nil ? rest : nil)
        let chunks = ChunkRows(bodyID: bodyID, from: Int(written) / StoreLimits.chunkLength, .buffer(rest))
        let shown = shown(ending.draft, ending.visibility)
        do {
            let finished = try await core.write(
                to: database,
                bytes: rest.readableBytes + overhead,
                mayRunHere: mayRunHere,
                shown: shown
            ) { context -> Finished? in
                guard try ending.isAllowed(context) else { return nil }
                try context.insert(ending.draft)
                try context.insert(chunks)
                if begun != nil { try context.endUnfinished(bodyID) }
                // The writer goes on reading from it, even if it is replaced at once.
                return Finished(lease: begun == nil && length > 0 ? leases.acquire(bodyID) : nil)
            }
            guard let finished else { return nil }
            state.withLock { state in
                if let lease = finished.lease { state.body = (bodyID, lease) }
                if length > 0 {
                    state.written = length
                    state.tail = ByteBuffer()
                }
            }
            releaseRoom()
            return ending.value
        } catch let error as StoreError {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func shown(_ draft: EntryDraft, _ visibility: Visibility) -> PendingWrite? {
        let fence: Int64?
        switch visibility {
        case .committed: return nil
        case .pending: fence = nil
        case .fenced(let number): fence = number
        }
        guard let entry = draft.resident?(fence ?? core.sequence.load(ordering: .acquiring)) else { return nil }
        return PendingWrite(
            writes: database.state.pending,
            entry: entry,
            hash: draft.keyHash,
            token: draft.id,
            fence: fence
        )
    }

    private struct Finished: Sendable {
        var lease: Lease?
    }

    /// Bytes beginning at `offset`: from memory while they are there, else one chunk's from disk.
    func readBack(from offset: Int64) throws -> ByteBuffer {
        let (fromMemory, written, bodyID) = state.withLock { state -> (ByteBuffer?, Int64, Int64?) in
            let position = offset - state.written
            guard position >= 0 else { return (nil, state.written, state.body?.id) }
            let available = state.tail.readableBytes - Int(position)
            guard available > 0 else { return (ByteBuffer(), state.written, state.body?.id) }
            let bytes = state.tail.getSlice(
                at: state.tail.readerIndex + Int(position),
                length: min(available, StoreLimits.chunkLength)
            )
            return (bytes ?? ByteBuffer(), state.written, state.body?.id)
        }
        if let fromMemory { return fromMemory }
        guard let bodyID, offset >= 0 else { return ByteBuffer() }
        let size = Int64(StoreLimits.chunkLength)
        let chunk = try core.read(database) {
            try StoredBody.chunk($0, bodyID: bodyID, index: offset / size, length: written)
        }
        guard case .whole(var bytes) = chunk else {
            throw StoreError(
                code: .damaged,
                message: "What was written cannot be read back. Fetch it again."
            )
        }
        bytes.moveReaderIndex(forwardBy: Int(offset % size))
        return bytes
    }

    static func tooLarge(_ name: String, length: Int64, limits: StoreLimits) -> StoreError {
        StoreError(
            code: .tooLarge,
            message: "\(name) has \(length) bytes or more; the limit for one stored thing is \(limits.maximumObject). "
                + "Raise 'budget' (one thing takes at most an eighth of it), or do not store it."
        )
    }
}
