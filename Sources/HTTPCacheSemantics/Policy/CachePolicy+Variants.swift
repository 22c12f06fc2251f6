public import HTTPTypes

extension CachePolicy {
    /// Selects the stored response that matches the request's selecting fields. If several match,
    /// it selects the most recent by `Date`, then by response time. RFC 9111 §4.1
    ///
    /// A fresh response takes precedence over a stale one, so an expired variant never hides a
    /// valid one. An invalidated response counts as stale. If both are fresh or both are stale, a
    /// success takes precedence over an error, so an error that another client provoked never hides
    /// a good response.
    /// - Returns: an index into `candidates`, or `nil` if no candidate matches (`vary-miss`).
    public func selectVariant(
        from candidates: [StoredResponseHead],
        for request: HTTPRequest,
        at now: Timestamp
    ) -> Int? {
        selectVariant(among: candidates.count, for: request, at: now) { candidates[$0] }
    }

    /// Selects a stored response like ``selectVariant(from:for:at:)``, for heads inside other
    /// values, without copying them to an array. RFC 9111 §4.1
    ///
    /// ```swift
    /// let index = policy.selectVariant(among: stored.count, for: request, at: now) {
    ///     stored[$0].head
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - count: the number of candidates.
    ///   - head: returns the head of a candidate in `0 ..< count`; called more than once.
    /// - Returns: the index of a candidate, or `nil` if no candidate matches (`vary-miss`).
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
            // Ranking reads dates. The usual case, a single match, needs none.
            if !isRanked {
                best = (current.index, rank(of: head(current.index), at: now))
                isRanked = true
            }
            let rank = rank(of: candidate, at: now)
            if let current = best, current.rank < rank { best = (index, rank) }
        }
        return best?.index
    }

    /// Returns whether the request's fields match the selecting fields of this response. `Vary: *`
    /// never matches.
    ///
    /// Values are compared after normalization (RFC 9111 §4.1):
    ///
    /// - Lines are joined, whitespace around commas is dropped, and names are case-insensitive.
    /// - For `Accept-Encoding`, `Accept-Language` and `Accept-Charset`, case and order are also
    ///   ignored.
    /// - A field that is absent on both sides matches; an empty field differs from an absent one.
    /// - Fields that an operator ignores (``PolicyOverrides/ignoredFields``) are not compared.
    /// - A response with a recorded client scheme, or with recorded values that an operator lists,
    ///   matches only that scheme or these values.
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
