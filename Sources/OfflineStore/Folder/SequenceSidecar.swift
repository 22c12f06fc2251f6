import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The number of the last invalidation, kept beside the database and synced.
///
/// SQLite drops the tail of a write-ahead log whose bits flipped without a word. If invalidations
/// were in that tail, the database opens with a smaller number than the one here, and the store
/// knows that it must trust nothing it holds.
///
/// Two slots, 4 KiB apart, written in turn and each with a checksum: a torn write leaves the other
/// one whole.
final class SequenceSidecar: Sendable {
    private static let magic: UInt64 = 0x3153_5146_5348_4C44
    private static let slotLength = 24
    private static let slotDistance: Int64 = 4096

    private let handle: FileHandle
    /// The slot that holds the newest number, which must not be the one that is written next.
    private let newest = Mutex<Int64>(0)

    /// Opens the sidecar, and makes it where there is none.
    init(path: String) throws {
        handle = try FileHandle(path: path, flags: O_RDWR | O_CREAT | O_NOFOLLOW)
        for place in [0, Self.slotDistance] { try takeRoom(at: place) }
    }

    /// Has a slot that was never written take its room on the disk, so that a full one prevents no
    /// invalidation. Where it is full already, the first invalidation will tell.
    private func takeRoom(at place: Int64) throws {
        guard try handle.read(count: Self.slotLength, at: place).allSatisfy({ $0 == 0 }) else { return }
        try? handle.write([UInt8](repeating: 0, count: Self.slotLength), at: place)
    }

    /// The number on disk; `nil` when neither slot is whole.
    func read() throws -> Int64? {
        let first = Self.decode(try handle.read(count: Self.slotLength, at: 0))
        let second = Self.decode(try handle.read(count: Self.slotLength, at: Self.slotDistance))
        newest.withLock { $0 = (second ?? -1) > (first ?? -1) ? 1 : 0 }
        switch (first, second) {
        case (let first?, let second?): return max(first, second)
        case (let number?, nil), (nil, let number?): return number
        case (nil, nil): return nil
        }
    }

    /// The number on disk, read without changing anything; `nil` when there is no file, or neither
    /// slot is whole.
    static func read(path: String) throws -> Int64? {
        guard try FileStatus(path: path) != nil else { return nil }
        let handle = try FileHandle(path: path, flags: O_RDONLY | O_NOFOLLOW)
        let slots = try [0, slotDistance].compactMap { decode(try handle.read(count: slotLength, at: $0)) }
        return slots.max()
    }

    /// Writes a number over the older slot; it is on the disk when this returns.
    func write(_ number: Int64) throws {
        try newest.withLock { newest in
            try handle.write(Self.encode(number), at: (1 - newest) * Self.slotDistance)
            try handle.synchronize()
            newest = 1 - newest
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
