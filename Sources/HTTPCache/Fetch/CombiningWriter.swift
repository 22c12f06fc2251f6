import HTTPCacheSemantics
import NIOCore

/// Stores a part as it arrives, together with the bytes that are already stored. RFC 9111 §3.4
///
/// Callers append the bytes of the new part. The writer writes the stored bytes before the part,
/// the needed bytes of the part, and the stored bytes after the part. All offsets refer to the new
/// part, because that is what its readers read.
actor CombiningWriter: StoredResponseWriter {
    private let base: any StoredResponseWriter
    private var before: BodyStream?
    private var after: BodyStream?
    /// The bytes of the new part to write.
    private let needed: Range<StatedLength>
    /// The distance from an offset in the new part to its offset in the written body. The written
    /// byte may be an identical stored byte.
    private let shift: Int64
    private var received: Int64 = 0
    /// The written bytes, if ``content()`` will be called.
    private var kept: ByteBuffer?

    /// The ranges of bytes that are combined.
    struct Plan {
        /// The bytes of the stored body that precede the new part.
        var before: Range<Int64>?
        /// The bytes of the new part that are needed.
        var needed: Range<StatedLength>
        /// The number of bytes of the new part before the needed bytes. The stored body already has
        /// them.
        var skipped: Int64
        /// The bytes of the stored body that follow the new part.
        var after: Range<Int64>?

        /// Creates a plan; `nil` if no byte of the new part is needed.
        init?(_ combined: CombinedResponse, of stored: StoredResponse) {
            var received: Range<StatedLength>?
            for piece in combined.pieces {
                switch piece {
                case .stored(let range) where received == nil: before = range.bytes(upTo: stored.bodyLength)
                case .stored(let range): after = range.bytes(upTo: stored.bodyLength)
                case .received(let range): received = range
                }
            }
            guard let received else { return nil }
            needed = received
            skipped = received.lowerBound.capped(at: stored.bodyLength)
        }
    }

    /// - Parameters:
    ///   - before: the stored bytes before the new part.
    ///   - after: the stored bytes after the new part.
    ///   - keepsContent: whether ``content()`` will be called.
    init(
        _ base: any StoredResponseWriter,
        _ plan: Plan,
        before: BodyStream?,
        after: BodyStream?,
        keepsContent: Bool = false
    ) {
        self.base = base
        kept = keepsContent ? ByteBuffer() : nil
        self.before = before
        self.after = after
        needed = plan.needed
        shift = Int64(plan.before?.count ?? 0) - plan.skipped
    }

    func append(_ chunk: ByteBuffer) async throws {
        try await write(before.take())
        let offset = received
        received += Int64(chunk.readableBytes)
        let lower = max(offset, needed.lowerBound.capped(at: received))
        let upper = max(lower, needed.upperBound.capped(at: received))
        if lower < upper,
            let slice = chunk.getSlice(at: chunk.readerIndex + Int(lower - offset), length: Int(upper - lower))
        {
            try await write(slice)
        }
        // Write the rest as soon as possible, so that the remaining bytes of the new part can leave
        // memory.
        if needed.upperBound.isWithin(received) { try await write(after.take()) }
    }

    private func write(_ stored: BodyStream?) async throws {
        guard let stored else { return }
        for try await chunk in stored { try await write(chunk) }
    }

    private func write(_ chunk: ByteBuffer) async throws {
        kept?.writeImmutableBuffer(chunk)
        try await base.append(chunk)
    }

    /// Returns the whole combined body, before it is finished.
    func content() async throws -> ByteBuffer {
        try await write(before.take())
        try await write(after.take())
        return kept ?? ByteBuffer()
    }

    var readableLength: Int64 {
        get async { max(0, min(received, await base.readableLength - shift)) }
    }

    func readBack(from offset: Int64) async throws -> ByteBuffer {
        var chunk = try await base.readBack(from: offset + shift)
        // Readers of the part must not see the stored bytes after it.
        let rest = Int(clamping: received - offset)
        if chunk.readableBytes > rest { chunk = chunk.readSlice(length: max(0, rest)) ?? ByteBuffer() }
        return chunk
    }

    func finish() async throws -> StoredResponse? {
        try await write(before.take())
        try await write(after.take())
        return try await base.finish()
    }

    func abandon() async { await base.abandon() }
}
