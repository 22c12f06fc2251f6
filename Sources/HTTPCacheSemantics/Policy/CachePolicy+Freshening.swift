public import HTTPTypes

extension CachePolicy {
    /// The stored response freshened by a 304: its fields updated **and** added to, its times
    /// replaced, its invalidation lifted. RFC 9111 §4.3.4, §3.2
    ///
    /// Every field of the 304 replaces all stored lines of its name, except those that §3.1 keeps
    /// out of a store (hop-by-hop, nominated by `Connection`, named by `private="…"` in a shared
    /// cache) and those that describe the stored bytes (`Content-Encoding`, `Content-Length`,
    /// `Content-Range`). A stored `Age` goes when the 304 brings none, and a 304 without `Date`
    /// gets the time it was received, or the response would be old at once. In a shared cache a
    /// `Set-Cookie` of the 304 is for the one whose request was validated; it is stored only where
    /// the freshened response is for everybody (`public` or `s-maxage`), as
    /// ``storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)`` asks of a new one.
    /// `Vary` is replaced only where `request` is given, because the selecting fields must be those
    /// of the new `Vary`. ``StoredResponseHead/explicitExpiry`` stays for the caller to renew.
    ///
    /// - Parameter request: the request that was validated, as its caller presented it. With it, a
    ///   304 without any validator is refused where the caller's own entity tags had been sent
    ///   along: it may be about one of those.
    /// - Parameter isForOthers: the stored response answers others than the principal whose request
    ///   was validated. Then a `Set-Cookie` is stored only where it is for everybody in a private
    ///   cache too, and a 304 that says `private` freshens nothing.
    /// - Returns: `nil` when the 304 is not about this stored response: its status is another, or
    ///   none of the validators that it brings is the stored one. One without any validator is
    ///   otherwise taken to be about it, because only this response's validators were sent.
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

    /// Stored fields updated by those of a 304 or a HEAD. RFC 9111 §3.2
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
        // Appended without it first: whether it may stay depends on the directives of the whole.
        result.fields.append(contentsOf: update.filter { $0.name != .setCookie })
        let allowsSharing = self.directives(of: result.fields).allowsSharing
        if setsCookie, kind == .private ? !isForOthers || allowsSharing : storesSetCookie && allowsSharing {
            result.fields.removeAll { $0.name == .setCookie }
            result.fields.append(contentsOf: update.filter { $0.name == .setCookie })
        }
        // One that says no `Cache-Control` leaves the stored one standing, and what that one calls
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

    /// Whether the 304's validators let it be about this response. RFC 9111 §4.3.4
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
                // What is no tag was never sent to be compared: it says something only where it is
                // repeated.
                return hasSameDate ?? fields[values: .eTag].haveSameBytes(as: stored.fields[values: .eTag])
            }
            if !tag.isWeak { return storedTag?.stronglyEquals(tag) ?? false }
            if let storedTag { return storedTag.weaklyEquals(tag) }
            // A weak tag that is new says nothing; the date has to.
            return hasSameDate ?? false
        }
        if let hasSameDate { return hasSameDate }
        guard let request, let storedTag else { return true }
        return Self.callersTags(of: request, beside: storedTag).isEmpty
    }

    /// `nil` where the response has no `Last-Modified`; one that is no date is not the stored one.
    func sameLastModified(_ stored: StoredResponseHead, _ fields: HTTPFields, received: Timestamp) -> Bool? {
        guard fields.contains(.lastModified) else { return nil }
        guard let new = StoredFields(fields, received: received, targeted: []).lastModified,
            let old = read(stored).lastModified
        else { return false }
        return new == old
    }
}
