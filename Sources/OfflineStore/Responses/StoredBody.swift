import HTTPCache
import NIOCore

/// Reads stored bodies: a chunk at a time, each with its checksum, never a whole one in memory.
struct StoredBody: Sendable {
    let core: StoreCore
    let database: StoreDatabase
    let entryID: Int64
    let bodyID: Int64
    let length: Int64
    /// Keeps the body on disk; not needed for one that is in memory as a whole after the first read.
    let lease: Lease?

    /// One chunk, verified; `nil` when it is not there or not what was written.
    static func chunk(_ connection: Connection, bodyID: Int64, index: Int64, length: Int64) throws -> Chunk {
        let id = bodyID << 16 | index
        let expected = min(Int64(StoreLimits.chunkLength), length - index * Int64(StoreLimits.chunkLength))
        let statement = try connection.prepare("SELECT checksum, data FROM chunk WHERE id = ?1")
        defer { statement.reset() }
        statement.bind(1, id)
        guard try statement.step() else { return .missing }
        let checksum = UInt64(bitPattern: statement.integer(0))
        return statement.withOctets(1) { octets in
            guard Int64(octets.count) == expected, XXHash64.hash(octets, seed: UInt64(bitPattern: id)) == checksum
            else {
                return .damaged
            }
            return .whole(ByteBuffer(bytes: octets))
        }
    }

    enum Chunk: Sendable {
        case whole(ByteBuffer)
        case missing
        case damaged
    }

    /// Opens a body: its first chunk has been verified when this returns; `nil` when that is gone or damaged.
    static func open(
        _ core: StoreCore,
        _ database: StoreDatabase,
        entryID: Int64,
        bodyID: Int64,
        length: Int64
    ) throws -> BodyStream? {
        if length == 0 { return .empty }
        let isSmall = length <= Int64(StoreLimits.chunkLength)
        var lease: Lease?
        if !isSmall {
            lease = database.state.leases.acquire(bodyID)
            if lease == nil { return nil }
        }
        let first = try core.read(database) { try chunk($0, bodyID: bodyID, index: 0, length: length) }
        switch first {
        case .missing: return nil
        case .damaged:
            core.noteDamage("body", entryID: entryID, in: database)
            return nil
        case .whole(let buffer):
            if isSmall { return BodyStream(buffer) }
            let body = StoredBody(
                core: core,
                database: database,
                entryID: entryID,
                bodyID: bodyID,
                length: length,
                lease: lease
            )
            return body.stream(first: buffer)
        }
    }

    private func stream(first: ByteBuffer) -> BodyStream {
        let count = (length + Int64(StoreLimits.chunkLength) - 1) / Int64(StoreLimits.chunkLength)
        return BodyStream(length: length) {
            var index: Int64 = 0
            return {
                defer { index += 1 }
                if index == 0 { return first }
                return index < count ? try await self.chunk(at: index) : nil
            }
        }
    }

    @concurrent
    private func chunk(at index: Int64) async throws -> ByteBuffer {
        switch try core.read(database, { try Self.chunk($0, bodyID: bodyID, index: index, length: length) }) {
        case .whole(let buffer): return buffer
        case .missing:
            throw StoreError(
                code: .gone,
                message:
                    "Stored body \(bodyID) was removed by the writing process while it was read. Ask for the response again."
            )
        case .damaged:
            core.noteDamage("body", entryID: entryID, in: database)
            throw StoreError(
                code: .damaged,
                message: "Stored body \(bodyID) is damaged at octet \(index * Int64(StoreLimits.chunkLength)). "
                    + "Fetch the response again, or remove it."
            )
        }
    }
}
