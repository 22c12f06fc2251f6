import HTTPCache
import NIOCore

extension BodyStream {
    /// The content, which breaks off where it turns out longer.
    ///
    /// - Throws: ``MessageRefusal`` (413) where it says that it is.
    func limited(to limit: Int64) throws -> BodyStream {
        if let length {
            guard length <= limit else { throw MessageRefusal(.contentTooLarge, status: 413) }
            return self
        }
        return BodyStream {
            let rest = Rest(self.makeAsyncIterator())
            var count: Int64 = 0
            return {
                let chunk = try await rest.next()
                count += Int64(chunk?.readableBytes ?? 0)
                guard count <= limit else { throw MessageRefusal(.contentTooLarge, status: 413) }
                return chunk
            }
        }
    }

    /// The content in memory, so that it can be part of the key; what is longer is passed on as it
    /// comes.
    func keyed(upTo limit: Int) async throws -> RequestBody {
        if let length, length > Int64(limit) { return .stream(self) }
        let rest = Rest(makeAsyncIterator())
        var start = ByteBuffer()
        while let chunk = try await rest.next() {
            start.writeImmutableBuffer(chunk)
            if start.readableBytes > limit {
                let read = start
                return .stream(
                    BodyStream {
                        var read: ByteBuffer? = read
                        return {
                            if let chunk = read.take() { return chunk }
                            return try await rest.next()
                        }
                    }
                )
            }
        }
        return .buffer(start)
    }
}

/// An iterator that outlives the function that began it.
///
/// `@unchecked`: a stream of a connection is read by one task at a time: first by the one that
/// buffers, then by the one that sends, which begins when the first has returned.
private final class Rest: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator

    init(_ iterator: BodyStream.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> ByteBuffer? {
        try await iterator.next()
    }
}
