import HTTPCache
import NIOCore
import StoreMemory
import Synchronization

/// Writes a body of unknown length to disk. A small body stays in memory until it ends; a larger
/// body is written in transactions of at most 4 MiB.
///
/// One task appends; any number of tasks may read back at the same time.
final class BodyWriter: Sendable {
    private struct State {
        /// The number of bytes on disk: a whole number of chunks until the body is finished.
        var written: Int64 = 0
        /// The bytes that follow the bytes on disk.
        var tail = ByteBuffer()
        var body: (id: Int64, lease: Lease)?
        var failure: StoreError?
        /// The space reserved for bytes on disk without an entry.
        var reserved: Int64
    }

    let core: StoreCore
    let database: StoreDatabase
    /// Describes the body; called only if a message needs it.
    private let describe: @Sendable () -> String
    private let state: Mutex<State>

    /// - Parameters:
    ///   - reserved: the space that the caller already reserved, in bytes. This writer releases it.
    ///   - describe: describes the body, for messages.
    init(core: StoreCore, database: StoreDatabase, reserved: Int64, describe: @escaping @Sendable () -> String) {
        self.core = core
        self.database = database
        self.describe = describe
        state = Mutex(State(reserved: reserved))
    }

    deinit { releaseSpace() }

    private func releaseSpace() {
        let reserved = state.withLock { state in
            defer { state.reserved = 0 }
            return state.reserved
        }
        database.state.unfinished.release(reserved)
    }

    /// Reserves the space that the body needs on disk after the next step.
    private func reserveSpace(for length: Int64) throws {
        let missing = state.withLock { length - $0.reserved }
        if missing <= 0 { return }
        guard database.state.unfinished.reserve(missing) else {
            throw StoreError(
                code: .busy,
                message: "\(describe()) is not stored: bodies in progress use all "
                    + "\(database.state.limits.unfinished) bytes reserved for them. Try again, or raise 'budget'."
            )
        }
        state.withLock { $0.reserved += missing }
    }

    var length: Int64 { state.withLock { $0.written + Int64($0.tail.readableBytes) } }

    /// Appends bytes, and writes to disk once the collected bytes fill a transaction.
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

    /// Writes the collected bytes in whole chunks, one full transaction at a time.
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
                try reserveSpace(for: step.from + Int64(limit))
                let begun = try await core.write(to: database, bytes: limit) {
                    [leases = database.state.leases] context in
                    try context.insert(chunks)
                    if step.isBegun { return nil as Lease? }
                    try context.reserve(bodyID)
                    guard let lease = leases.acquire(bodyID, isUnfinished: true) else { throw WriteContext.missingRow }
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

    /// When readers begin to see the entry.
    enum Visibility: Sendable {
        /// Once it is committed.
        case committed
        /// While it is being written.
        case pending
        /// While it is being written, unless an invalidation after this number affects it.
        case fenced(Int64)
    }

    /// The entry that makes a body visible, and the result of finishing it.
    struct Ending<Value: Sendable>: Sendable {
        var draft: EntryDraft
        var value: Value
        var visibility: Visibility
        /// Called inside the transaction. If it returns `false`, the body is left to the sweep.
        var isAllowed: @Sendable (WriteContext) throws -> Bool
    }

    /// Writes the rest and, in the same commit, the entry that makes the body visible.
    ///
    /// - Parameters:
    ///   - overhead: the number of bytes that are written in addition to the body.
    ///   - mayRunHere: whether to run on the calling thread if the writer is idle.
    ///   - ending: creates the entry from the body's number and length, and from the body if all of
    ///     it is in memory.
    /// - Returns: the ending's value; `nil` if the ending was not allowed.
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
        let pendingWrite = makePendingWrite(ending.draft, ending.visibility)
        do {
            let finished = try await core.write(
                to: database,
                bytes: rest.readableBytes + overhead,
                mayRunHere: mayRunHere,
                pendingWrite: pendingWrite
            ) { context -> Finished? in
                guard try ending.isAllowed(context) else { return nil }
                try context.insert(ending.draft)
                try context.insert(chunks)
                if begun != nil { try context.endUnfinished(bodyID) }
                // This writer can still read the body back, even if the body is replaced
                // immediately.
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
            releaseSpace()
            return ending.value
        } catch let error as StoreError {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    private func makePendingWrite(_ draft: EntryDraft, _ visibility: Visibility) -> PendingWrite? {
        let fencingNumber: Int64?
        switch visibility {
        case .committed: return nil
        case .pending: fencingNumber = nil
        case .fenced(let number): fencingNumber = number
        }
        guard let entry = draft.memoryEntry?(fencingNumber ?? core.lastInvalidation.number) else {
            return nil
        }
        return PendingWrite(
            writes: database.state.pending,
            entry: entry,
            hash: draft.keyHash,
            token: draft.id,
            fencingNumber: fencingNumber
        )
    }

    private struct Finished: Sendable {
        var lease: Lease?
    }

    /// Returns bytes starting at `offset`, from memory or from one chunk on disk.
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
        let chunk = try core.readEntry(database) {
            try StoredBody.chunk($0, bodyID: bodyID, index: offset / size, length: written)
        }
        guard case .whole(var bytes) = chunk else {
            throw StoreError(
                code: .damaged,
                message: "The bytes written so far cannot be read back. Fetch the response again."
            )
        }
        bytes.moveReaderIndex(forwardBy: Int(offset % size))
        return bytes
    }

    static func tooLarge(_ name: String, length: Int64, limits: StoreLimits) -> StoreError {
        StoreError(
            code: .tooLarge,
            message: "\(name) has \(length) bytes or more; the limit for one entry is \(limits.maximumObject). "
                + "An entry may take at most an eighth of 'budget', and at most 4 GiB. Raise 'budget', or do not store the entry."
        )
    }
}
