/// What of a stored representation answers a request. RFC 9110 §14.2
///
/// Ranges are offsets in the representation, whether or not all of it is stored.
public enum StoredSelection: Sendable, Hashable {
    /// The whole representation, with the status that was stored (200 where a stored partial
    /// response holds all of it).
    case complete
    /// One part: 206 with `Content-Range`.
    case range(Range<Int64>, completeLength: Int64?)
    /// Several parts: 206 as `multipart/byteranges`, in this order.
    case ranges([Range<Int64>], completeLength: Int64)
    /// Nothing of the representation was asked for: 416 with `Content-Range: bytes */n`.
    case unsatisfiable(completeLength: Int64)
    /// A stored partial response does not hold what is asked for.
    case missing(MissingPart)
}

/// What a stored partial response lacks to answer a request.
public struct MissingPart: Sendable, Hashable {
    /// From the first to the last byte that is asked for and not stored; `nil` where that cannot be
    /// told, because the representation's length is not known or the stored response is damaged.
    public var range: Range<Int64>?
    /// The representation's length, where it is known.
    public var completeLength: Int64?

    /// Makes a description.
    public init(range: Range<Int64>?, completeLength: Int64?) {
        self.range = range
        self.completeLength = completeLength
    }
}
