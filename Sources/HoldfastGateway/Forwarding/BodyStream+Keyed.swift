import HTTPCache
import NIOCore

extension BodyStream {
    /// The content, which breaks off if it turns out to be longer than a limit.
    ///
    /// - Throws: ``ContentTooLarge`` if its stated length exceeds the limit.
    func limited(to limit: Int64) throws -> BodyStream {
        if let length {
            guard length <= limit else { throw ContentTooLarge() }
            return self
        }
        return BodyStream {
            let rest = SharedIterator(self.makeAsyncIterator())
            var count: Int64 = 0
            return {
                let chunk = try await rest.next()
                count += Int64(chunk?.readableBytes ?? 0)
                guard count <= limit else { throw ContentTooLarge() }
                return chunk
            }
        }
    }

    /// Reads the content into memory, so that it can become part of the key. Longer content stays a
    /// stream.
    func keyed(upTo limit: Int) async throws -> RequestBody {
        if let length, length > Int64(limit) { return .stream(self) }
        let rest = SharedIterator(makeAsyncIterator())
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

/// An iterator that outlives the function that created it.
///
/// `@unchecked`: one task at a time reads the stream of a connection. First the task that buffers
/// reads it, then the task that sends, which starts after the first one has returned.
private final class SharedIterator: @unchecked Sendable {
    private var iterator: BodyStream.AsyncIterator

    init(_ iterator: BodyStream.AsyncIterator) {
        self.iterator = iterator
    }

    func next() async throws -> ByteBuffer? {
        try await iterator.next()
    }
}

/// A request's content is longer than this gateway forwards. RFC 9110 §15.5.14
struct ContentTooLarge: RequestRefusal {
    let code = "content-too-large"
    let status = 413
}
