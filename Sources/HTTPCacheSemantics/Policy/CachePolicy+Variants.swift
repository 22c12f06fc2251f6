public import HTTPTypes

extension CachePolicy {
    /// The stored response that matches the request's selecting fields: among several, the one most recent by `Date` (then by response time). RFC 9111 §4.1
    ///
    /// A fresh one goes before a stale one, so that an expired variant never hides a valid one. An invalidated one counts as stale.
    /// - Returns: an index into `candidates`, or `nil` (no candidate, or `vary-miss`).
    public func selectVariant(
        from candidates: [StoredResponseHead],
        for request: HTTPRequest,
        at now: Timestamp
    ) -> Int? {
        var best: (index: Int, rank: Rank)?
        var isRanked = false
        for index in candidates.indices where matchesVariant(candidates[index], request) {
            guard let current = best else {
                best = (index, Rank(isFresh: false, date: .distantPast, responseTime: .distantPast))
                continue
            }
            // Ranking reads dates; a lone match, the usual case, needs none.
            if !isRanked {
                best = (current.index, rank(of: candidates[current.index], at: now))
                isRanked = true
            }
            let rank = rank(of: candidates[index], at: now)
            if let current = best, current.rank < rank { best = (index, rank) }
        }
        return best?.index
    }

    /// Do the request's fields match those that this response was selected by? `Vary: *` never does.
    ///
    /// Compared after normalisation: lines joined, whitespace around commas dropped, names without case; for `Accept-Encoding`, `Accept-Language`
    /// and `Accept-Charset` also case and order. A field that both lack matches; an empty one is not an absent one. RFC 9111 §4.1
    public func matchesVariant(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        let vary = FieldNameList(.vary, in: stored.fields)
        guard vary.isPresent else { return true }
        if vary.hasWildcard || vary.hasMalformedMember { return false }
        return vary.names.allSatisfy { SelectingField.matches($0, stored.selectingFields, request.headerFields) }
    }

    private struct Rank: Comparable {
        var isFresh: Bool
        var date: Timestamp
        var responseTime: Timestamp

        static func < (lhs: Rank, rhs: Rank) -> Bool {
            if lhs.isFresh != rhs.isFresh { return rhs.isFresh }
            if lhs.date != rhs.date { return lhs.date < rhs.date }
            return lhs.responseTime < rhs.responseTime
        }
    }

    private func rank(of stored: StoredResponseHead, at now: Timestamp) -> Rank {
        let fields = read(stored)
        return Rank(
            isFresh: !stored.isInvalidated && freshness(of: stored, fields, at: now).isFresh,
            date: fields.date ?? stored.responseTime,
            responseTime: stored.responseTime
        )
    }
}
