import HTTPCache
import HTTPCacheSemantics
import NIOCore
import StoreFiles
import StoreMemory
import Synchronization

/// Reads a stored body chunk by chunk, and verifies the checksum of each chunk. It never loads a
/// whole body.
struct StoredBody: Sendable {
    let core: StoreCore
    let database: StoreDatabase
    let entryID: Int64
    let bodyID: Int64
    let length: Int64
    /// Keeps the body on disk. It is not needed if the first read returns the whole body.
    let lease: Lease?

    /// Reads and verifies one chunk.
    static func chunk(_ connection: Connection, bodyID: Int64, index: Int64, length: Int64) throws -> Chunk {
        let id = bodyID << 16 | index
        let expected = min(Int64(StoreLimits.chunkLength), length - index * Int64(StoreLimits.chunkLength))
        let statement = try connection.prepare("SELECT checksum, data FROM chunk WHERE id = ?1")
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step() else { return .missing }
        return withChunk(statement, column: 0, id: id, length: expected) { .whole(buffer($0)) } ?? .damaged
    }

    /// Passes the verified bytes of the chunk in a row to `body`; returns `nil` if the row has no
    /// chunk, or if the chunk is damaged.
    ///
    /// - Parameters:
    ///   - column: the column of the checksum. The bytes are in the next column.
    ///   - id: the chunk's number in its table.
    ///   - length: the expected length, in bytes.
    static func withChunk<Result>(
        _ statement: SQLStatement,
        column: Int32,
        id: Int64,
        length: Int64,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result? {
        let checksum = UInt64(bitPattern: statement.integer(column))
        return statement.withBytes(column + 1) { bytes in
            guard Int64(bytes.count) == length, XXHash64.hash(bytes, seed: UInt64(bitPattern: id)) == checksum else {
                return nil
            }
            return body(bytes)
        }
    }

    static func buffer(_ bytes: UnsafeRawBufferPointer) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: bytes.count)
        buffer.writeBytes(bytes)
        return buffer
    }

    enum Chunk: Sendable {
        case whole(ByteBuffer)
        case missing
        case damaged
    }

    /// Opens a body or part of it. The first chunk of the range is verified when this returns.
    ///
    /// - Parameter range: the bytes to read; `nil` for the whole body.
    /// - Returns: `nil` if the first chunk is missing or damaged, or if the range is not within the
    ///   body.
    static func open(
        _ core: StoreCore,
        _ database: StoreDatabase,
        entryID: Int64,
        bodyID: Int64,
        length: Int64,
        range: Range<Int64>? = nil
    ) throws -> BodyStream? {
        let range = range ?? 0..<length
        guard range.lowerBound >= 0, range.upperBound <= length else { return nil }
        if range.isEmpty { return .empty }
        let size = Int64(StoreLimits.chunkLength)
        let index = range.lowerBound / size
        let isOneChunk = index == (range.upperBound - 1) / size
        var lease: Lease?
        if !isOneChunk {
            lease = database.state.leases.acquire(bodyID)
            if lease == nil { return nil }
        }
        let first = try core.readEntry(database) { try chunk($0, bodyID: bodyID, index: index, length: length) }
        switch first {
        case .missing:
            try core.noteIfTorn(entryID: entryID, bodyID: bodyID, index: index, in: database)
            return nil
        case .damaged:
            core.noteDamage("body", entryID: entryID, in: database)
            return nil
        case .whole(let chunk):
            let buffer = part(of: chunk, at: index, within: range)
            if isOneChunk { return BodyStream(buffer) }
            let body = StoredBody(
                core: core,
                database: database,
                entryID: entryID,
                bodyID: bodyID,
                length: length,
                lease: lease
            )
            return body.stream(range, first: buffer)
        }
    }

    private func stream(_ range: Range<Int64>, first: ByteBuffer) -> BodyStream {
        let size = Int64(StoreLimits.chunkLength)
        let indices = range.lowerBound / size...(range.upperBound - 1) / size
        // The first iterator takes the first chunk, so that the chunk does not stay in memory while
        // the body is read.
        let unused = Mutex<ByteBuffer?>(first)
        return BodyStream(length: StatedLength(clamping: range.count)) {
            var index = indices.lowerBound
            return {
                defer { index += 1 }
                if index == indices.lowerBound, let first = unused.withLock({ $0.take() }) { return first }
                guard index <= indices.upperBound else { return nil }
                return Self.part(of: try await self.chunk(at: index), at: index, within: range)
            }
        }
    }

    /// Returns the part of a chunk that is within a range of the body.
    private static func part(of chunk: ByteBuffer, at index: Int64, within range: Range<Int64>) -> ByteBuffer {
        let start = index * Int64(StoreLimits.chunkLength)
        let bytes = range.clamped(to: start..<start + Int64(chunk.readableBytes))
        let place = chunk.readerIndex + Int(bytes.lowerBound - start)
        guard let part = chunk.getSlice(at: place, length: bytes.count) else { return chunk }
        // Copy short parts; otherwise they would keep the whole chunk in memory.
        return bytes.count <= chunk.readableBytes / 4 ? ByteBuffer(bytes: part.readableBytesView) : part
    }

    @concurrent
    private func chunk(at index: Int64) async throws -> ByteBuffer {
        switch try core.readEntry(database, { try Self.chunk($0, bodyID: bodyID, index: index, length: length) }) {
        case .whole(let buffer): return buffer
        case .missing:
            try core.noteIfTorn(entryID: entryID, bodyID: bodyID, index: index, in: database)
            throw StoreError(
                code: .gone,
                message:
                    "Stored body \(bodyID) was removed by the writing process while it was being read. Request the response again."
            )
        case .damaged:
            core.noteDamage("body", entryID: entryID, in: database)
            throw StoreError(
                code: .damaged,
                message: "Stored body \(bodyID) is damaged at byte \(index * Int64(StoreLimits.chunkLength)). "
                    + "Fetch the response again, or remove it."
            )
        }
    }
}
