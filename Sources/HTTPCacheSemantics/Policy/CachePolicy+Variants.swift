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
        guard matchesScheme(stored, request) else { return false }
        let fields = stored.fields
        // Most responses have none; looking for it by name copies no field.
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

    /// Compares the fields that one line of `Vary` names.
    ///
    /// No real field has more names than ``FieldNameList/maximumNames``, repeated ones included.
    /// Such a field never matches, which costs one validation at most.
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
            // The meaning of a malformed member is unknown.
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
