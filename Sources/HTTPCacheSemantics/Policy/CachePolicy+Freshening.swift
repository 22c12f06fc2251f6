public import HTTPTypes

extension CachePolicy {
    /// The stored response freshened by a 304: its fields updated **and** added to, its times
    /// replaced, its invalidation lifted. RFC 9111 §4.3.4, §3.2
    ///
    /// Every field of the 304 replaces all stored lines of its name. Exceptions are the fields that
    /// §3.1 keeps out of a store (hop-by-hop, nominated by `Connection`, named by `private="…"` in
    /// a shared cache) and those that describe the stored bytes (`Content-Encoding`,
    /// `Content-Length`, `Content-Range`).
    ///
    /// If the 304 has no `Age`, the stored one is removed. If it has no `Date`, it gets the time of
    /// receipt, because the response would otherwise be old at once.
    ///
    /// In a shared cache a `Set-Cookie` of the 304 is for the client whose request was validated.
    /// It is stored only if the freshened response is for all (`public` or `s-maxage`), as
    /// ``storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)`` requires of a new
    /// one.
    ///
    /// `Vary` is replaced only if `request` is given, because the selecting fields must be those of
    /// the new `Vary`. The caller renews ``StoredResponseHead/explicitExpiry``; it does not change
    /// here.
    ///
    /// - Parameter request: the request that was validated, as its caller presented it. With it, a
    ///   304 without any validator is rejected if the caller's own entity tags were sent too: the
    ///   304 may be about one of those.
    /// - Parameter isForOthers: whether the stored response is also served to others than the
    ///   principal whose request was validated. Then a private cache too stores a `Set-Cookie` only
    ///   if the response is for all, and a 304 with `private` freshens nothing.
    /// - Returns: `nil` if the 304 is not about this stored response: its status is another, or
    ///   none of its validators is the stored one. A 304 without any validator is otherwise taken
    ///   to be about it, because only this response's validators were sent.
    public func freshened(
        _ stored: StoredResponseHead,
        by notModified: HTTPResponse,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: HTTPRequest? = nil,
        isForOthers: Bool = false
    ) -> StoredResponseHead? {
        guard notModified.status.code == 304,
            isAbout(stored, notModified.headerFields, received: responseTime, request: request)
        else { return nil }
        return updated(
            stored,
            with: notModified.headerFields,
            requestTime: requestTime,
            responseTime: responseTime,
            request: request,
            isForOthers: isForOthers
        )
    }

    /// Updates the stored fields with those of a 304 or a HEAD. RFC 9111 §3.2
    func updated(
        _ stored: StoredResponseHead,
        with fields: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: HTTPRequest?,
        isForOthers: Bool
    ) -> StoredResponseHead? {
        guard stored.fields.count + fields.count < FieldRules.maximumCount else { return nil }
        let directives = directives(of: fields, updating: stored.fields)
        if isForOthers, directives.isPrivate != .absent { return nil }
        var update = storable(fields, directives)
        update.removeAll { field in
            FieldRules.isFixedByContent(field.name.canonicalName) || (request == nil && field.name == .vary)
        }
        if !update.contains(.date) {
            update.append(HTTPField(name: .date, value: HTTPDate.format(responseTime)))
        }

        var result = stored
        result.fields.removeAll { $0.name == .age || ($0.name != .setCookie && update.contains($0.name)) }
        let setsCookie = update.contains(.setCookie)
        // Added without `Set-Cookie` first: the directives of the whole decide whether it may stay.
        result.fields.append(contentsOf: update.filter { $0.name != .setCookie })
        let allowsSharing = self.directives(of: result.fields).allowsSharing
        if setsCookie, kind == .private ? !isForOthers || allowsSharing : storesSetCookie && allowsSharing {
            result.fields.removeAll { $0.name == .setCookie }
            result.fields.append(contentsOf: update.filter { $0.name == .setCookie })
        }
        // An update without `Cache-Control` keeps the stored one, and the fields that it calls
        // private.
        if kind == .shared, case .fields(let names) = self.directives(of: result.fields).isPrivate {
            let withheld = Set(names)
            result.fields.removeAll { withheld.contains($0.name.canonicalName) }
        }
        if let request, update.contains(.vary) {
            result.selectingFields = selectingFields(
                of: request,
                vary: FieldNameList(.vary, in: result.fields),
                ignoring: overrides(of: result.fields)?.ignoredFields ?? []
            )
        }
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    /// Whether the 304's validators allow it to be about this response. RFC 9111 §4.3.4
    private func isAbout(
        _ stored: StoredResponseHead,
        _ fields: HTTPFields,
        received: Timestamp,
        request: HTTPRequest?
    ) -> Bool {
        let storedTag = EntityTag(stored.fields)
        let hasSameDate = sameLastModified(stored, fields, received: received)
        if fields.contains(.eTag) {
            guard let tag = EntityTag(fields) else {
                // A value that is not a tag was never sent for comparison. It matters only if it is
                // repeated unchanged.
                return hasSameDate ?? fields[values: .eTag].haveSameBytes(as: stored.fields[values: .eTag])
            }
            if !tag.isWeak { return storedTag?.stronglyEquals(tag) ?? false }
            if let storedTag { return storedTag.weaklyEquals(tag) }
            // A new weak tag proves nothing; the date must decide.
            return hasSameDate ?? false
        }
        if let hasSameDate { return hasSameDate }
        guard let request, let storedTag else { return true }
        return Self.callersTags(of: request, beside: storedTag).isEmpty
    }

    /// Whether the response has the stored `Last-Modified`.
    ///
    /// `nil` if it has none; one that is not a date is not the stored one.
    func sameLastModified(_ stored: StoredResponseHead, _ fields: HTTPFields, received: Timestamp) -> Bool? {
        guard fields.contains(.lastModified) else { return nil }
        guard let new = StoredFields(fields, received: received, targeted: []).lastModified,
            let old = read(stored).lastModified
        else { return false }
        return new == old
    }
}
