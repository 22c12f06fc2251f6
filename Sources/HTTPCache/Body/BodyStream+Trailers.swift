package import HTTPTypes
package import NIOCore

/// The source of a body that may end with trailer fields. RFC 9110 §6.5
package protocol TrailedContent: AnyObject, Sendable {
    /// Called once for each iterator: see ``BodyStream/init(length:start:)``.
    func startReading() -> () async throws -> ByteBuffer?

    /// The trailer fields that may pass; `nil` if there are none, or the content has not been read
    /// to its end.
    var trailers: HTTPFields? { get }
}

extension BodyStream {
    /// The same body without some of its trailer fields.
    ///
    /// - Parameter isDropped: whether a field with this name is left out.
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

extension FieldEdits {
    /// Removes what the edits set or remove from the trailer fields as well: a program that joins
    /// them with the head would undo the edits. RFC 9110 §6.5.1
    func apply(toTrailersOf body: BodyStream) -> BodyStream {
        guard body.trailedContent != nil else { return body }
        let edits = self
        return body.droppingTrailers { edits.removed.contains($0) || edits.set.contains($0) }
    }
}
