package import HTTPCacheSemantics
import HTTPTypes

/// Decides how long a body that is being stored continues after its last reader has left. A pure
/// value.
///
/// * A body continues for 1 second. If its length is unknown, it also ends 8 MiB after its
///   beginning.
/// * A body of known length continues for 10 seconds if, at the pace of the first second, it will
///   be complete by then, because a complete body can serve the next caller.
/// * A stream of unknown length does not continue, because it may never end.
/// * A fetch without a waiting caller (such as a background renewal of a stored response) has no
///   time limit. A body of known length then continues to its end.
///
/// A request that waits for a permit or a connection to the same origin ends the body immediately:
/// see ``UnreadWatch``.
package struct UnreadLimit: Sendable, Hashable {
    /// How far a body may continue without a reader.
    package enum Allowance: Sendable, Hashable {
        case end
        case goOn(for: Duration)
        case goOnToTheEnd
    }

    /// The maximum number of bytes of a body of unknown length, including bytes that were already
    /// read.
    package static let bytes: Int64 = 8 << 20
    package static let time = Duration.seconds(1)
    /// The maximum time without a reader, as a multiple of ``time``, for a body that will be
    /// complete by then.
    package static let extensionFactor = 10

    private let length: StatedLength?
    private let isStream: Bool
    private let isBackground: Bool

    package init(length: StatedLength?, isStream: Bool = false, isBackground: Bool) {
        self.length = length
        self.isStream = isStream
        self.isBackground = isBackground
    }

    init(_ response: HTTPResponse, length: StatedLength?, isBackground: Bool) {
        self.init(length: length, isStream: response.isStream, isBackground: isBackground)
    }

    /// Returns the allowance when the last reader leaves, or if there never was a reader.
    ///
    /// - Parameter received: the number of bytes received.
    package func allowance(at received: Int64) -> Allowance {
        if let length { return isBackground || length.isWithin(received) ? .goOnToTheEnd : .goOn(for: Self.time) }
        if isStream || received > Self.bytes { return .end }
        return isBackground ? .goOnToTheEnd : .goOn(for: Self.time)
    }

    /// Returns the allowance when the first ``time`` has passed.
    ///
    /// - Parameters:
    ///   - start: the number of bytes received when the last reader left.
    ///   - received: the number of bytes received so far.
    package func allowance(at received: Int64, since start: Int64) -> Allowance {
        guard let length else { return .end }
        guard let rest = length.subtracting(StatedLength(clamping: received)), rest > 0 else { return .goOnToTheEnd }
        let further = Self.extensionFactor - 1
        return rest.isWithin((received - start) * Int64(further)) ? .goOn(for: Self.time * further) : .end
    }
}

extension HTTPResponse {
    /// Whether the response's content is a sequence that may continue while a reader listens, but
    /// that may be stored.
    fileprivate var isStream: Bool {
        guard let type = headerFields[.contentType]?.mediaType else { return false }
        return Self.streamTypes.contains(type) || type.hasSuffix("json-seq")
    }

    private static let streamTypes: Set<String> = [
        "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines",
        "application/stream+json",
    ]
}
