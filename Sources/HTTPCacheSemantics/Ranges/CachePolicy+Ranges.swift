public import HTTPTypes

extension CachePolicy {
    /// The most parts of one answer.
    ///
    /// RFC 9110 §14.2 lets a server refuse or coalesce many small or overlapping ranges.
    public static let maximumParts = 16
    /// The longest `Range` that is forwarded, in bytes of all its lines.
    public static let maximumRangeLength = 1024

    /// Whether a request's `Range` may go to its origin: of whatever unit, at most ``maximumParts``
    /// members and ``maximumRangeLength`` bytes.
    ///
    /// An origin may spend a buffer on each member, or answer a field that it dislikes with an
    /// error that caches keep. A request without the field asks for the whole, as RFC 9110 §14.2
    /// lets every recipient read it.
    package static func forwardsRange(of request: HTTPFields) -> Bool {
        guard request.contains(.range) else { return true }
        var members = 0
        var length = 0
        for field in request where field.name == .range {
            field.withUnsafeBytesOfValue { bytes in
                length += bytes.count
                members += 1
                for byte in bytes where byte == UInt8(ascii: ",") { members += 1 }
            }
        }
        return members <= maximumParts && length <= maximumRangeLength
    }

    /// What of the stored representation answers the request. RFC 9110 §14.2, §13.1.5
    ///
    /// `Range` counts for GET and a stored 200 or 206 only. It is ignored where its unit is not
    /// `bytes`, where it is malformed or comes twice, and where `If-Range` does not hold: that
    /// needs one line with the stored strong entity tag, or exactly the stored `Last-Modified`
    /// where that is strong (§8.8.2.2). More parts than `maximumParts`, or parts that overlap so
    /// far that together they exceed the representation, are sorted and coalesced; when still too
    /// many, the whole answers. A suffix of an empty representation is answered whole, because no
    /// `Content-Range` can name it.
    ///
    /// A stored partial response answers what lies in it: a suffix or an open range only where the
    /// complete length is known, the whole only where it holds all of it. One whose body is not as
    /// long as its `Content-Range` says answers nothing.
    ///
    /// - Parameters:
    ///   - bodyLength: bytes of the stored body.
    ///   - maximumParts: for an answer in several parts.
    public func selection(
        of stored: StoredResponseHead,
        bodyLength: Int64,
        for request: HTTPRequest,
        maximumParts: Int = CachePolicy.maximumParts
    ) -> StoredSelection {
        let wish = rangeWish(of: request, for: stored)
        guard stored.status.code == 206 else {
            guard let wish, stored.status.code == 200 else { return .complete }
            return Self.selection(wish, completeLength: max(0, bodyLength), maximumParts: maximumParts)
        }
        guard let part = stored.partialRange, part.range.upperBound - part.range.lowerBound == bodyLength else {
            return .missing(MissingPart(range: nil, completeLength: stored.partialRange?.completeLength))
        }
        guard let completeLength = part.completeLength else {
            return Self.selection(wish, inPartOfUnknown: part.range)
        }
        let selection =
            wish.map { Self.selection($0, completeLength: completeLength, maximumParts: maximumParts) } ?? .complete
        return selection.held(by: part.range, completeLength: completeLength)
    }

    /// The ranges that the request asks for; `nil` where it asks for the whole, or its `Range` is
    /// to be ignored.
    func rangeWish(of request: HTTPRequest, for stored: StoredResponseHead) -> ByteRangeSet? {
        guard request.method == .get, let ranges = ByteRangeSet(request.headerFields),
            ifRangeHolds(request, for: stored)
        else { return nil }
        return ranges
    }

    /// RFC 9110 §13.1.5: also without the field.
    private func ifRangeHolds(_ request: HTTPRequest, for stored: StoredResponseHead) -> Bool {
        guard request.headerFields.contains(.ifRange) else { return true }
        var lines = request.headerFields[fields: .ifRange].makeIterator()
        guard var line = lines.next(), lines.next() == nil else { return false }
        if let date = line.withUnsafeBytesOfValue({ HTTPDate.parse($0, reference: stored.responseTime) }) {
            return StrongValidator.strongDate(stored.fields, received: stored.responseTime) == date
        }
        line.name = .eTag
        guard let given = EntityTag(HTTPFields([line])), let tag = EntityTag(stored.fields) else { return false }
        return given.stronglyEquals(tag)
    }

    private static func selection(
        _ wish: ByteRangeSet,
        completeLength: Int64,
        maximumParts: Int
    ) -> StoredSelection {
        if completeLength == 0 && wish.hasSuffix { return .complete }
        var ranges = wish.resolved(completeLength: completeLength)
        if ranges.count > maximumParts || ranges.totalLength > completeLength { ranges = ranges.coalesced }
        guard let first = ranges.first else { return .unsatisfiable(completeLength: completeLength) }
        // One part is never sent as multipart, however many were asked for. RFC 9110 §15.3.7.2
        if ranges.count == 1 { return .range(first, completeLength: completeLength) }
        return ranges.count > maximumParts ? .complete : .ranges(ranges, completeLength: completeLength)
    }

    /// Without the complete length only what names both its ends can be answered, and only as one
    /// part.
    private static func selection(_ wish: ByteRangeSet?, inPartOfUnknown held: Range<Int64>) -> StoredSelection {
        guard let ranges = wish?.closed?.coalesced, let first = ranges.first, let last = ranges.last else {
            return .missing(MissingPart(range: nil, completeLength: nil))
        }
        if ranges.count == 1, held.contains(first) { return .range(first, completeLength: nil) }
        let asked = first.lowerBound..<last.upperBound
        return .missing(MissingPart(range: ranges.missing(from: held) ?? asked, completeLength: nil))
    }
}

extension StoredSelection {
    /// This selection where all that it names is stored, else what is missing.
    fileprivate func held(by part: Range<Int64>, completeLength: Int64) -> StoredSelection {
        let needed: [Range<Int64>]
        switch self {
        case .complete: needed = [0..<completeLength]
        case .range(let range, _): needed = [range]
        case .ranges(let ranges, _): needed = ranges
        case .unsatisfiable, .missing: return self
        }
        guard let missing = needed.missing(from: part) else { return self }
        return .missing(MissingPart(range: missing, completeLength: completeLength))
    }
}

extension Array where Element == Range<Int64> {
    /// From the first to the last byte of these that does not lie in `held`; `nil` where all do.
    fileprivate func missing(from held: Range<Int64>) -> Range<Int64>? {
        var result: Range<Int64>?
        for range in self where !range.isEmpty && !held.contains(range) {
            // The part of the range that sticks out on either side.
            let lower = held.contains(range.lowerBound) ? held.upperBound : range.lowerBound
            let upper = held.contains(range.upperBound - 1) ? held.lowerBound : range.upperBound
            guard lower < upper else { continue }
            result = Swift.min(result?.lowerBound ?? lower, lower)..<Swift.max(result?.upperBound ?? upper, upper)
        }
        return result
    }
}
