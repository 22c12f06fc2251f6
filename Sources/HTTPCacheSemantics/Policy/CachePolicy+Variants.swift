public import HTTPTypes

extension CachePolicy {
    /// The stored response that matches the request's selecting fields: among several, the one most
    /// recent by `Date` (then by response time). RFC 9111 §4.1
    ///
    /// A fresh one goes before a stale one, so that an expired variant never hides a valid one. An
    /// invalidated one counts as stale. Of two that are both fresh or both stale, a success goes
    /// before an error: what somebody else's request provoked never hides a good response.
    /// - Returns: an index into `candidates`, or `nil` (no candidate, or `vary-miss`).
    public func selectVariant(
        from candidates: [StoredResponseHead],
        for request: HTTPRequest,
        at now: Timestamp
    ) -> Int? {
        selectVariant(among: candidates.count, for: request, at: now) { candidates[$0] }
    }

    /// ``selectVariant(from:for:at:)`` for heads that stand inside other values, without copying
    /// them to an array first. RFC 9111 §4.1
    ///
    /// ```swift
    /// let index = policy.selectVariant(among: stored.count, for: request, at: now) { stored[$0].head }
    /// ```
    ///
    /// - Parameters:
    ///   - count: how many candidates there are.
    ///   - head: the head of a candidate, `0 ..< count`; asked for more than once.
    /// - Returns: which candidate, or `nil` (none, or `vary-miss`).
    public func selectVariant(
        among count: Int,
        for request: HTTPRequest,
        at now: Timestamp,
        head: (Int) -> StoredResponseHead
    ) -> Int? {
        var best: (index: Int, rank: Rank)?
        var isRanked = false
        for index in 0..<count {
            let candidate = head(index)
            guard matchesVariant(candidate, request) else { continue }
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

    /// Do the request's fields match those that this response was selected by? `Vary: *` never
    /// does.
    ///
    /// Compared after normalisation: lines joined, whitespace around commas dropped, names without
    /// case; for `Accept-Encoding`, `Accept-Language` and `Accept-Charset` also case and order. A
    /// field that both lack matches; an empty one is not an absent one. What an operator has
    /// ignored (``PolicyOverrides/ignoredFields``) is not compared. RFC 9111 §4.1
    public func matchesVariant(_ stored: StoredResponseHead, _ request: HTTPRequest) -> Bool {
        let fields = stored.fields
        // Most responses have none; to look for it by name copies no field.
        guard fields.contains(.vary) else { return true }
        var count = 0
        let ignored = overriding == nil ? nil : overrides(of: fields)?.ignoredFields
        for field in fields where field.name.canonicalName.utf8.count == 4 && field.name == .vary {
            let matches = field.withUnsafeBytesOfValue { bytes in
                matchesNominated(bytes, &count, stored.selectingFields, request.headerFields, ignoring: ignored)
            }
            if !matches { return false }
        }
        return true
    }

    /// One line of `Vary`.
    ///
    /// More names than ``FieldNameList/maximumNames`` are no real field's, repeated ones included:
    /// it then never matches, which costs a validation at most.
    private func matchesNominated(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ count: inout Int,
        _ stored: HTTPFields,
        _ presented: HTTPFields,
        ignoring ignored: Set<String>?
    ) -> Bool {
        var scanner = ByteScanner(bytes)
        while true {
            scanner.skipSeparators()
            if scanner.isAtEnd { return true }
            let range = scanner.token()
            scanner.skipWhitespace()
            count += 1
            // What a malformed member asks for cannot be known.
            guard !range.isEmpty, (scanner.current ?? UInt8(ascii: ",")) == UInt8(ascii: ","),
                count <= FieldNameList.maximumNames,
                range.count != 1 || bytes[range.lowerBound] != UInt8(ascii: "*")
            else { return false }
            if let ignored, !ignored.isEmpty, ignored.contains(bytes.lowercased(range)) { continue }
            let name = UnsafeBufferPointer(rebasing: bytes[range])
            let areSame =
                SelectingField.areSameLines(name, stored, presented)
                ?? SelectingField.matches(bytes.lowercased(range), stored, presented)
            if !areSame { return false }
        }
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
