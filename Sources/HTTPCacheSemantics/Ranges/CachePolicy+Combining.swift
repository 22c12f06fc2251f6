package import HTTPTypes

/// A stored response combined with a new part of the same representation. RFC 9111 §3.4
package struct CombinedResponse: Sendable, Hashable {
    /// A section of the new body.
    package enum Piece: Sendable, Hashable {
        /// A range of the stored body, as offsets in that body.
        case stored(Range<StatedLength>)
        /// A range of the received body, as offsets in that body.
        case received(Range<StatedLength>)
    }
    /// The head to store: 200 if the pieces form the whole representation, otherwise 206 with a
    /// `Content-Range` for all pieces.
    package var head: StoredResponseHead
    /// The pieces of the new body, in order.
    package var pieces: [Piece]

    /// The length of the new body in bytes.
    package var length: StatedLength {
        pieces.reduce(0) { sum, piece in
            switch piece {
            case .stored(let range), .received(let range): sum.adding(range.length) ?? .maximum
            }
        }
    }

    /// Whether no piece of the received body is needed, so that the stored response is only
    /// freshened.
    package var isStoredAlone: Bool {
        pieces.allSatisfy { piece in
            if case .stored = piece { return true }
            return false
        }
    }
}

extension CachePolicy {
    /// Combines a stored response, complete (200) or partial (206), with the part in a new 206. RFC
    /// 9111 §3.4, RFC 9110 §15.3.7.3
    ///
    /// The two can be combined under these conditions:
    ///
    /// - They have the same strong validator: equal strong entity tags, or no `ETag` in either and
    ///   equal strong `Last-Modified`.
    /// - Their complete lengths agree.
    /// - They overlap or are adjacent.
    ///
    /// The new response's fields replace the stored fields (§3.2), as when a 304 freshens. Bytes
    /// that both contain are taken from the stored body, unless the new part contains the whole
    /// stored part. A part that lies within the stored part only freshens it:
    /// ``CombinedResponse/isStoredAlone``.
    ///
    /// ``partialStorability(of:to:hasCredentials:hasExplicitExpiry:)`` decides whether the new
    /// response may be stored at all. The caller checks that its body is complete.
    ///
    /// - Parameters:
    ///   - bodyLength: the length of the stored body in bytes.
    ///   - request: the request for the new response.
    /// - Returns: `nil` if the two cannot be combined; the caller then keeps one of them.
    package func combined(
        _ stored: StoredResponseHead,
        bodyLength: Int64,
        with partial: HTTPResponse,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: HTTPRequest
    ) -> CombinedResponse? {
        guard partial.status.code == 206, let new = Self.part(partial.headerFields),
            let old = Self.heldPart(of: stored, bodyLength: bodyLength),
            let validator = stored.strongValidator,
            validator == StrongValidator(partial.headerFields, received: responseTime),
            let union = Self.union(old, new),
            Self.agreeOnCoding(stored.fields, partial.headerFields)
        else { return nil }
        var update = HTTPResponse(status: .notModified, headerFields: partial.headerFields)
        update.headerFields.removePartialContentFields()
        guard
            var head = freshened(
                stored,
                by: update,
                requestTime: requestTime,
                responseTime: responseTime,
                request: request
            )
        else { return nil }
        let pieces = Self.pieces(old.range, new.range)
        if stored.status.code != 200 {
            head.fields.removePartialContentFields()
            head.fields[.contentLength] = "\(union.range.length)"
            if union.range.lowerBound == 0, union.range.upperBound == union.completeLength {
                head.status = .ok
            } else {
                head.fields[.contentRange] = union.fieldValue
            }
        }
        return CombinedResponse(head: head, pieces: pieces)
    }

    /// Returns the stored response as a part, or `nil` if its length is not the stated length.
    private static func heldPart(of stored: StoredResponseHead, bodyLength: Int64) -> ContentRange? {
        if stored.status.code == 200 {
            guard bodyLength >= 0 else { return nil }
            let length = StatedLength(clamping: bodyLength)
            return ContentRange(range: 0..<length, completeLength: length)
        }
        guard let part = stored.partialRange, part.range.length == StatedLength(clamping: bodyLength) else {
            return nil
        }
        return part
    }

    /// Returns the union of both ranges if they overlap or are adjacent and their complete lengths
    /// agree.
    private static func union(_ old: ContentRange, _ new: ContentRange) -> ContentRange? {
        if let length = old.completeLength, let other = new.completeLength, length != other { return nil }
        guard new.range.lowerBound <= old.range.upperBound, old.range.lowerBound <= new.range.upperBound else {
            return nil
        }
        let lower = min(old.range.lowerBound, new.range.lowerBound)
        let upper = max(old.range.upperBound, new.range.upperBound)
        let completeLength = old.completeLength ?? new.completeLength
        guard upper <= completeLength ?? .maximum else { return nil }
        return ContentRange(range: Range(from: lower, to: upper), completeLength: completeLength)
    }

    /// Returns whether both have the same content coding. If the codings differ, the bytes differ,
    /// whatever the validators say.
    private static func agreeOnCoding(_ stored: HTTPFields, _ new: HTTPFields) -> Bool {
        guard let coding = SelectingField.normalized("content-encoding", in: new) else { return true }
        return coding == SelectingField.normalized("content-encoding", in: stored)
    }

    private static func pieces(_ old: Range<StatedLength>, _ new: Range<StatedLength>) -> [CombinedResponse.Piece] {
        let stored = CombinedResponse.Piece.stored(0..<old.length)
        // The length of the new part before the stored part; `nil` if the new part does not begin
        // before it.
        let before = old.lowerBound.subtracting(new.lowerBound).flatMap { $0 > 0 ? $0 : nil }
        let isLater = new.upperBound > old.upperBound
        switch (before, isLater) {
        case (_?, true):
            return [.received(0..<new.length)]
        case (let before?, false):
            return [.received(0..<before), stored]
        case (nil, true):
            // The two overlap or are adjacent: the new part begins no later than the end of the
            // stored part.
            let known = old.upperBound.subtracting(new.lowerBound) ?? 0
            return [stored, .received(Range(from: known, to: new.length))]
        case (nil, false):
            return [stored]
        }
    }
}
