import HTTPCacheSemantics
import HTTPTypes

/// The part of a file that an interrupted download left.
struct ResumablePart: Sendable, Hashable {
    var record: DownloadRecord
    /// The number of bytes in the part, at least 1.
    var length: Int64
}

/// How to treat the response to a request for a download.
enum DownloadDecision: Sendable, Hashable {
    /// Write the content, starting at this offset; 0 starts over. The complete file has `total`
    /// bytes, if known.
    case write(from: Int64, total: StatedLength?)
    /// The part is already complete.
    case complete
    /// The response does not match the part. Discard the part and request the whole content.
    case fetchWhole
    /// The origin rejected the request.
    case reject

    /// - Parameters:
    ///   - part: the part whose rest was requested, with `Range` and `If-Range`; `nil` if the whole
    ///   content was requested.
    ///   - bodyLength: the number of bytes in this response's content, if known.
    init(after head: HTTPResponse, bodyLength: StatedLength?, resuming part: ResumablePart?, accepted: AcceptedStatuses)
    {
        switch (head.status.code, part) {
        case (206, let part?):
            // RFC 9110 §15.3.7
            let length = StatedLength(clamping: part.length)
            guard !part.record.isContradicted(by: head.headerFields), let range = ContentRange(head.headerFields),
                range.range.lowerBound == length, let total = range.completeLength ?? part.record.length,
                part.record.length ?? total == total
            else {
                self = .fetchWhole
                return
            }
            self = .write(from: part.length, total: total)
        case (416, let part?):
            // The origin has nothing after the part. RFC 9110 §15.5.17
            let length = StatedLength(clamping: part.length)
            let isWhole =
                !part.record.isContradicted(by: head.headerFields) && part.record.length == length
                && ContentRange.unsatisfiedLength(head.headerFields) ?? length == length
            self = isWhole ? .complete : .fetchWhole
        default:
            self = accepted.contains(head.status) ? .write(from: 0, total: bodyLength) : .reject
        }
    }
}
