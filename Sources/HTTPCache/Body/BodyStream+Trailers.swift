package import HTTPTypes
package import NIOCore

/// The source of a body that may end with trailer fields. RFC 9110 §6.5
package protocol TrailedContent: AnyObject, Sendable {
    /// Starts reading, and returns the function that produces the chunks. Called once for each
    /// iterator: see ``BodyStream/init(length:start:)``.
    func startReading() -> () async throws -> ByteBuffer?

    /// The trailer fields that may be forwarded; `nil` if there are none, or if the content has not
    /// been read to its end.
    var trailers: HTTPFields? { get }
}

extension BodyStream {
    /// Returns the same body without some of its trailer fields.
    ///
    /// - Parameter isDropped: returns whether to omit a field with this name.
    package func droppingTrailers(where isDropped: @escaping @Sendable (HTTPField.Name) -> Bool) -> BodyStream {
        guard let content = trailedContent else { return self }
        return BodyStream(length: length, trailed: FilteredTrailers(content, isDropped))
    }
}

/// Content with fewer trailer fields.
private final class FilteredTrailers: TrailedContent {
    private let content: any TrailedContent
    private let isDropped: @Sendable (HTTPField.Name) -> Bool

    init(_ content: any TrailedContent, _ isDropped: @escaping @Sendable (HTTPField.Name) -> Bool) {
        self.content = content
        self.isDropped = isDropped
    }

    func startReading() -> () async throws -> ByteBuffer? { content.startReading() }

    var trailers: HTTPFields? {
        guard var trailers = content.trailers else { return nil }
        trailers.removeAll { isDropped($0.name) }
        return trailers.isEmpty ? nil : trailers
    }
}

extension BodyStream {
    /// Returns the same body. The error that its reader gets is also passed to a function.
    func noting(_ note: @escaping @Sendable (any Error) -> Void) -> BodyStream {
        BodyStream(length: length, trailed: NotedContent(self, note))
    }
}

/// Content whose error is also passed to a function.
private final class NotedContent: TrailedContent {
    private let content: BodyStream
    private let note: @Sendable (any Error) -> Void

    init(_ content: BodyStream, _ note: @escaping @Sendable (any Error) -> Void) {
        self.content = content
        self.note = note
    }

    func startReading() -> () async throws -> ByteBuffer? {
        var iterator = content.makeAsyncIterator()
        let note = note
        return {
            do {
                return try await iterator.next()
            } catch {
                note(error)
                throw error
            }
        }
    }

    var trailers: HTTPFields? { content.trailers }
}
