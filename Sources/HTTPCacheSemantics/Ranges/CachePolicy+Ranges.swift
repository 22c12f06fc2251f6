package import HTTPTypes

extension CachePolicy {
    /// Selects the part of the stored representation that serves the request. RFC 9110 §14.2,
    /// §13.1.5
    ///
    /// `Range` applies only to GET and a stored 200 or 206. It is ignored if its unit is not
    /// `bytes`, if it is malformed or repeated, or if `If-Range` does not match. `If-Range` must be
    /// one line that contains the stored strong entity tag, or exactly the stored `Last-Modified`
    /// if that is strong (§8.8.2.2).
    ///
    /// Parts are sorted and merged if there are more than `maximumParts`, or if their total length
    /// exceeds the representation. If there are still too many, or if the request is for a suffix
    /// of an empty representation (which no `Content-Range` can express), the whole representation
    /// is served.
    ///
    /// A stored partial response serves only bytes that it contains. It serves a suffix or an open
    /// range only if the complete length is known, and the whole representation only if it contains
    /// all bytes. If its body is not as long as its `Content-Range` states, it is not used.
    ///
    /// - Parameters:
    ///   - bodyLength: the length of the stored body in bytes.
    ///   - maximumParts: the maximum number of parts in a multipart response.
    package func selection(
        of stored: StoredResponseHead,
        bodyLength: Int64,
        for request: HTTPRequest,
        maximumParts: Int = CachePolicy.maximumParts
    ) -> StoredSelection {
        let requested = requestedRanges(of: request, for: stored)
        guard stored.status.code == 206 else {
            guard let requested, stored.status.code == 200 else { return .complete }
            return Self.selectFromWhole(
                requested,
                completeLength: StatedLength(clamping: bodyLength),
                maximumParts: maximumParts
            )
        }
        guard let part = stored.partialRange, part.range.length == StatedLength(clamping: bodyLength) else {
            return .missing(MissingPart(range: nil, completeLength: stored.partialRange?.completeLength))
        }
        guard let completeLength = part.completeLength else {
            return Self.selectFromPart(requested, held: part.range)
        }
        let selection =
            requested.map { Self.selectFromWhole($0, completeLength: completeLength, maximumParts: maximumParts) }
            ?? .complete
        return selection.held(by: part.range, completeLength: completeLength)
    }

    /// Returns the requested ranges, or `nil` if the request is for the whole representation or its
    /// `Range` must be ignored.
    func requestedRanges(of request: HTTPRequest, for stored: StoredResponseHead) -> ByteRangeSet? {
        guard request.method == .get, let ranges = ByteRangeSet(request.headerFields),
            ifRangeHolds(request, for: stored)
        else { return nil }
        return ranges
    }

    /// Returns whether `If-Range` matches or is absent. RFC 9110 §13.1.5
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

    private static func selectFromWhole(
        _ requested: ByteRangeSet,
        completeLength: StatedLength,
        maximumParts: Int
    ) -> StoredSelection {
        if completeLength == 0 && requested.hasSuffix { return .complete }
        var ranges = requested.resolved(completeLength: completeLength)
        if ranges.count > maximumParts || ranges.totalLength > completeLength { ranges = ranges.coalesced }
        guard let first = ranges.first else { return .unsatisfiable(completeLength: completeLength) }
        // A single part is never sent as multipart, however many ranges were requested. RFC 9110
        // §15.3.7.2
        if ranges.count == 1 { return .range(first, completeLength: completeLength) }
        return ranges.count > maximumParts ? .complete : .ranges(ranges, completeLength: completeLength)
    }

    /// Selects from a part of unknown complete length: only ranges with both ends can be served,
    /// and only as one part.
    private static func selectFromPart(_ requested: ByteRangeSet?, held: Range<StatedLength>) -> StoredSelection {
        guard let ranges = requested?.closed?.coalesced, let first = ranges.first, let last = ranges.last else {
            return .missing(MissingPart(range: nil, completeLength: nil))
        }
        if ranges.count == 1, held.contains(first) { return .range(first, completeLength: nil) }
        let asked = Range(from: first.lowerBound, to: last.upperBound)
        return .missing(MissingPart(range: ranges.missing(from: held) ?? asked, completeLength: nil))
    }
}

extension StoredSelection {
    /// Returns this selection if all of its bytes are stored, otherwise the missing part.
    fileprivate func held(by part: Range<StatedLength>, completeLength: StatedLength) -> StoredSelection {
        let needed: [Range<StatedLength>]
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

extension Array where Element == Range<StatedLength> {
    /// Returns the range from the first to the last of these bytes outside `held`, or `nil` if
    /// there are none.
    fileprivate func missing(from held: Range<StatedLength>) -> Range<StatedLength>? {
        var result: Range<StatedLength>?
        for range in self where !range.isEmpty && !held.contains(range) {
            // The bytes of the range outside `held`, on either side.
            let lower = held.contains(range.lowerBound) ? held.upperBound : range.lowerBound
            let last = range.upperBound.subtracting(1) ?? 0
            let upper = held.contains(last) ? held.lowerBound : range.upperBound
            guard lower < upper else { continue }
            result = Swift.min(result?.lowerBound ?? lower, lower)..<Swift.max(result?.upperBound ?? upper, upper)
        }
        return result
    }
}
