import NIOCore

/// The part of an arriving body that is in memory. A plain value: it knows neither locks nor
/// readers.
struct BodyWindow {
    /// The maximum size of a merged chunk, in bytes.
    private static let coalescedLimit = 16 << 10

    private(set) var chunks = CircularBuffer<ByteBuffer>()
    /// The offset of the first byte. ``end`` is the offset after the last byte.
    private(set) var start: Int64 = 0
    private(set) var end: Int64 = 0
    /// The number of bytes, from the beginning of the body, that can be read back from the store.
    var persisted: Int64 = 0

    var length: Int64 { end - start }

    /// Appends a chunk. Merges small chunks, so that finding an offset stays cheap however small
    /// the origin's chunks are.
    mutating func append(_ chunk: ByteBuffer) {
        end += Int64(chunk.readableBytes)
        guard let last = chunks.last, last.readableBytes + chunk.readableBytes <= Self.coalescedLimit else {
            chunks.append(chunk)
            return
        }
        chunks[chunks.index(before: chunks.endIndex)].writeImmutableBuffer(chunk)
    }

    /// Returns the rest of the chunk that contains `offset`.
    func chunk(at offset: Int64) -> ByteBuffer? {
        guard offset >= start, offset < end else { return nil }
        var first = start
        for chunk in chunks {
            let next = first + Int64(chunk.readableBytes)
            if offset < next {
                return chunk.getSlice(at: chunk.readerIndex + Int(offset - first), length: Int(next - offset))
            }
            first = next
        }
        return nil
    }

    /// Drops chunks from the beginning while the window is longer than the limit and they are on
    /// disk or already read.
    mutating func trim(to limit: Int64, passed: Int64) {
        while length > limit, let first = chunks.first {
            let next = start + Int64(first.readableBytes)
            guard next <= persisted || next <= passed else { return }
            chunks.removeFirst()
            start = next
        }
    }
}
