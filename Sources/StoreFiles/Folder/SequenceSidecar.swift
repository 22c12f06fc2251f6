import HTTPCache
import LibC
import Synchronization

/// The number of the last invalidation, in a synced file next to the database.
///
/// If bits flip at the end of a write-ahead log, SQLite silently drops that end. If the dropped end
/// contained invalidations, the database opens with a lower number than the sidecar. The store then
/// knows that it must not trust any of its entries.
///
/// The number is written only after the log was synced: a power failure must not leave a sidecar
/// that is ahead of its database. So the sidecar may briefly lack invalidations of other nodes. If
/// they are lost, they are read from the fleet log again.
///
/// The file has two slots, 4 KiB apart, which are written in turn, each with a checksum. A torn
/// write leaves the other slot intact.
package final class SequenceSidecar: Sendable {
    private static let magic: UInt64 = 0x3153_5146_5348_4C44
    private static let slotLength = 24
    private static let slotDistance: Int64 = 4096

    private struct State {
        var handle: FileHandle
        /// The slot with the newest number. The next write must use the other slot.
        var newest: Int64 = 0
        /// The highest number written here.
        var written: Int64?
    }

    private let state: Mutex<State>

    /// Opens the sidecar; creates it if there is none.
    package init(path: String) throws { state = Mutex(State(handle: try Self.open(path))) }

    /// Opens another file at the path, after the one in use was deleted.
    package func reopen(path: String) throws {
        let handle = try Self.open(path)
        state.withLock { $0 = State(handle: handle) }
    }

    private static func open(_ path: String) throws -> FileHandle {
        let handle = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        for place in [0, slotDistance] { try allocate(at: place, in: handle) }
        return handle
    }

    /// Allocates disk space for a slot that was never written, so that a full disk cannot prevent
    /// an invalidation. If the disk is already full, the first invalidation fails and reports it.
    private static func allocate(at place: Int64, in handle: FileHandle) throws {
        guard try handle.read(count: slotLength, at: place).allSatisfy({ $0 == 0 }) else { return }
        try? handle.write([UInt8](repeating: 0, count: slotLength), at: place)
    }

    /// Returns the number on disk; `nil` if neither slot is intact.
    package func read() throws -> Int64? {
        let handle = state.withLock { $0.handle }
        let first = Self.decode(try handle.read(count: Self.slotLength, at: 0))
        let second = Self.decode(try handle.read(count: Self.slotLength, at: Self.slotDistance))
        state.withLock { $0.newest = (second ?? -1) > (first ?? -1) ? 1 : 0 }
        switch (first, second) {
        case (let first?, let second?): return max(first, second)
        case (let number?, nil), (nil, let number?): return number
        case (nil, nil): return nil
        }
    }

    /// Returns the number on disk without changing anything; `nil` if there is no file, or neither
    /// slot is intact.
    package static func read(path: String) throws -> Int64? {
        guard try FileStatus(path: path) != nil else { return nil }
        let handle = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW)
        let slots = try [0, slotDistance].compactMap { decode(try handle.read(count: slotLength, at: $0)) }
        return slots.max()
    }

    /// Writes a number to the older slot. That number, or a higher one, is durable when this
    /// returns.
    package func write(_ number: Int64) throws {
        try state.withLock { state in
            if let written = state.written, number <= written { return }
            try state.handle.write(Self.encode(number), at: (1 - state.newest) * Self.slotDistance)
            try state.handle.synchronize()
            state.newest = 1 - state.newest
            state.written = number
        }
    }

    private static func encode(_ number: Int64) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: slotLength)
        writer.write(magic)
        writer.write(number)
        writer.write(XXHash64.hash(writer.bytes))
        return writer.bytes
    }

    private static func decode(_ bytes: [UInt8]) -> Int64? {
        bytes.withUnsafeBytes { bytes in
            guard bytes.count == slotLength, let content = HeadBinding.verified(bytes, seed: 0) else { return nil }
            var reader = ByteReader(content)
            guard reader.read(UInt64.self) == magic, let number = reader.read(Int64.self), number >= 0 else {
                return nil
            }
            return number
        }
    }
}
