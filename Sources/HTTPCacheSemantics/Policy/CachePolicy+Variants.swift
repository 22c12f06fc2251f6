public import HTTPTypes

extension CachePolicy {
    /// The stored response that matches the request's selecting fields; among several, the most
    /// recent by `Date` (then by response time). RFC 9111 §4.1
    ///
    /// A fresh one takes precedence over a stale one, so that an expired variant never hides a
    /// valid one. An invalidated one is treated as stale. Of two that are both fresh or both stale,
    /// a success takes precedence over an error: an error that another client provoked never hides
    /// a good response.
    /// - Returns: an index into `candidates`, or `nil` (no candidate matches: `vary-miss`).
    public func selectVariant(
        from candidates: [StoredResponseHead],
        for request: HTTPRequest,
        at now: Timestamp
    ) -> Int? {
        selectVariant(among: candidates.count, for: request, at: now) { candidates[$0] }
    }

    /// Does the same for heads inside other values, without copying them to an array first. RFC
    /// 9111 §4.1
    ///
    /// ```swift
    /// let index = policy.selectVariant(among: stored.count, for: request, at: now) {
    ///     stored[$0].head
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - count: the number of candidates.
    ///   - head: gives the head of a candidate in `0 ..< count`; called more than once.
    /// - Returns: the index of a candidate, or `nil` (no candidate matches: `vary-miss`).
    public func selectVariant(
        among count: Int,
        for request: HTTPRequest,
        at now: Timestamp,
        head: (Int) -> StoredResponseHead
    ) -> Int? {
        var best: (index: Int, rank: Rank)?
        var isRanked = false
        var matcher = VariantMatcher(self, request)
        for index in 0..<count {
            let candidate = head(index)
            guard matcher.matches(candidate) else { continue }
            guard let current = best else {
                best = (index, Rank(isFresh: false, isSuccess: false, date: .distantPast, responseTime: .distantPast))
                continue
            }
            // Ranking reads dates; a lone match, the usual case, needs none.
            if !isRanked {
                best = (current.index, rank(of: head(current.index), at: now))
                isRanked = true
            }
            let rank = rank(of: candidate, at: now)
            if let current = best, current.rank < rank { best = (index, rank) }
        }
        return best?.index
    }

    /// Whether the request's fields match those that this response was selected by. `Vary: *` never
    /// matches.
    ///
    /// Values are compared after normalisation: lines are joined, whitespace around commas is
    /// dropped, names have no case. For `Accept-Encoding`, `Accept-Language` and `Accept-Charset`
    /// case and order do not matter either. A field that both lack matches; an empty field differs
    /// from an absent one. Fields that an operator ignores (``PolicyOverrides/ignoredFields``) are
    /// not compared. A response for which the client's scheme is recorded matches that scheme
    /// alone. RFC 9111 §4.1
    public func matchesVariant(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        var matcher = VariantMatcher(self, request)
        return matcher.matches(stored)
    }

    private struct Rank: Comparable {
        var isFresh: Bool
        var isSuccess: Bool
        var date: Timestamp
        var responseTime: Timestamp

        static func < (lhs: Rank, rhs: Rank) -> Bool {
            if lhs.isFresh != rhs.isFresh { return rhs.isFresh }
            if lhs.isSuccess != rhs.isSuccess { return rhs.isSuccess }
            if lhs.date != rhs.date { return lhs.date < rhs.date }
            return lhs.responseTime < rhs.responseTime
        }
    }

    private func rank(of stored: StoredResponseHead, at now: Timestamp) -> Rank {
        let fields = read(stored)
        return Rank(
            isFresh: !stored.isInvalidated && freshness(of: stored, fields, at: now).isFresh,
            isSuccess: stored.status.code < 400,
            date: fields.date ?? stored.responseTime,
            responseTime: stored.responseTime
        )
    }
}
