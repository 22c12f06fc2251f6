import HTTPCacheSemantics
import HTTPTypes

/// A part that a broken-off download left.
struct ResumablePart: Sendable, Hashable {
    var record: DownloadRecord
    /// Bytes in it, at least one.
    var length: Int64
}

/// What becomes of the answer to a request for a download.
enum DownloadDecision: Sendable, Hashable {
    /// Its content is written from this byte on: 0 begins anew. The whole has `total` bytes, where
    /// that is known.
    case write(from: Int64, total: Int64?)
    /// The part is the whole.
    case isWhole
    /// It does not fit the part, which is thrown away: the whole is asked for.
    case askForWhole
    /// The origin refused.
    case refuse

    /// - Parameters:
    ///   - part: whose rest was asked for, with `Range` and `If-Range`; `nil` where the whole was.
    ///   - bodyLength: bytes in the response's own content, where that is known.
    init(after head: HTTPResponse, bodyLength: Int64?, resuming part: ResumablePart?, accepted: AcceptedStatuses) {
        switch (head.status.code, part) {
        case (206, let part?):
            // RFC 9110 §15.3.7
            guard !part.record.isContradicted(by: head.headerFields), let range = ContentRange(head.headerFields),
                range.range.lowerBound == part.length, let total = range.completeLength ?? part.record.length,
                part.record.length ?? total == total
            else {
                self = .askForWhole
                return
            }
            self = .write(from: part.length, total: total)
        case (416, let part?):
            // Nothing is beyond the part. RFC 9110 §15.5.17
            let length = ContentRange.unsatisfiedLength(head.headerFields)
            let isWhole =
                !part.record.isContradicted(by: head.headerFields) && part.record.length == part.length
                && length ?? part.length == part.length
            self = isWhole ? .isWhole : .askForWhole
        default:
            self = accepted.contains(head.status) ? .write(from: 0, total: bodyLength) : .refuse
        }
    }
}
