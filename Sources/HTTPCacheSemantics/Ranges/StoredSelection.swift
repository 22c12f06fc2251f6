/// The part of a stored representation that serves a request. RFC 9110 §14.2
///
/// Ranges are offsets in the representation, even if only a part of it is stored.
package enum StoredSelection: Sendable, Hashable {
    /// The whole representation, with the stored status (200 if a stored partial response contains
    /// all of it).
    case complete
    /// One part: 206 with `Content-Range`.
    case range(Range<StatedLength>, completeLength: StatedLength?)
    /// Several parts: 206 as `multipart/byteranges`, in this order.
    case ranges([Range<StatedLength>], completeLength: StatedLength)
    /// The requested ranges contain no byte of the representation: 416 with `Content-Range: bytes
    /// */n`.
    case unsatisfiable(completeLength: StatedLength)
    /// The stored partial response lacks requested bytes.
    case missing(MissingPart)
}

/// The part that a stored partial response lacks to serve a request.
package struct MissingPart: Sendable, Hashable {
    /// The range from the first to the last requested byte that is not stored. It is `nil` if the
    /// representation's length is unknown or the stored response is damaged.
    package var range: Range<StatedLength>?
    /// The representation's length, if known.
    package var completeLength: StatedLength?

    /// Creates a description.
    package init(range: Range<StatedLength>?, completeLength: StatedLength?) {
        self.range = range
        self.completeLength = completeLength
    }
}
