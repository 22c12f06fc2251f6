public import HTTPTypes

extension CachePolicy {
    /// Returns the stored response freshened by a 304: its fields are replaced and new fields are
    /// added, its times are replaced, and its invalidation is cleared. RFC 9111 §4.3.4, §3.2
    ///
    /// Each field of the 304 replaces all stored lines with its name, except:
    ///
    /// - fields that §3.1 excludes from storage (hop-by-hop, listed by `Connection`, listed by
    ///   `private="…"` in a shared cache);
    /// - fields that describe the stored bytes (`Content-Encoding`, `Content-Length`,
    ///   `Content-Range`).
    ///
    /// If the 304 has no `Age`, the stored `Age` is removed. If it has no `Date`, it gets the time
    /// of receipt; otherwise the response would be old immediately.
    ///
    /// In a shared cache, a `Set-Cookie` in the 304 is meant for the client whose request was
    /// validated. It is stored only if the freshened response may be shared with everyone (`public`
    /// or `s-maxage`), as `storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)`
    /// requires for a new response.
    ///
    /// `Vary` is replaced only if `request` is given, because the selecting fields must match the
    /// new `Vary`. The caller renews ``StoredResponseHead/explicitExpiry``; this function does not
    /// change it.
    ///
    /// - Parameter request: the validated request, as its caller presented it. If it is given and
    ///   the caller's own entity tags were sent too, a 304 without validators is rejected, because
    ///   it may refer to one of those tags.
    /// - Parameter isForOthers: whether the stored response is also served to principals other than
    ///   the one whose request was validated. If so, a private cache also stores a `Set-Cookie`
    ///   only if the response may be shared with everyone, and a 304 with `private` does not
    ///   freshen the response.
    /// - Returns: `nil` if the response is not about this stored response: its status is not 304,
    ///   or none of its validators matches. A 304 without validators is otherwise assumed to match,
    ///   because only this response's validators were sent.
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

    /// Returns the stored response with its fields updated by those of a 304 or of a response to
    /// HEAD. RFC 9111 §3.2
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
        let ruled = overrides(of: stored.fields)
        update.removeAll { field in
            FieldRules.isFixedByContent(field.name.canonicalName) || (request == nil && field.name == .vary)
                || ruled?.leavesOut(field) == true
        }
        if !update.contains(.date) {
            update.append(HTTPField(name: .date, value: HTTPDate.format(responseTime)))
        }

        var result = stored
        result.fields.removeAll { $0.name == .age || ($0.name != .setCookie && update.contains($0.name)) }
        let setsCookie = update.contains(.setCookie)
        // Add the other fields first, because the combined directives decide whether `Set-Cookie`
        // is kept.
        result.fields.append(contentsOf: update.filter { $0.name != .setCookie })
        let allowsSharing = self.directives(of: result.fields).allowsSharing
        if setsCookie, kind == .private ? !isForOthers || allowsSharing : storesSetCookie && allowsSharing {
            result.fields.removeAll { $0.name == .setCookie }
            result.fields.append(contentsOf: update.filter { $0.name == .setCookie })
        }
        // An update without `Cache-Control` keeps the stored directives, so the fields that
        // `private` lists are removed again.
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

    /// Returns whether the 304's validators match this stored response. RFC 9111 §4.3.4
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
                // A value that is not a tag was never sent for comparison. It matches only if it is
                // repeated unchanged.
                return hasSameDate ?? fields[values: .eTag].haveSameBytes(as: stored.fields[values: .eTag])
            }
            if !tag.isWeak { return storedTag?.stronglyEquals(tag) ?? false }
            if let storedTag { return storedTag.weaklyEquals(tag) }
            // A new weak tag is not evidence, so the date must decide.
            return hasSameDate ?? false
        }
        if let hasSameDate { return hasSameDate }
        guard let request, let storedTag else { return true }
        return Self.callersTags(of: request, beside: storedTag).isEmpty
    }

    /// Returns whether the response has the stored `Last-Modified`.
    ///
    /// Returns `nil` if the response has no such field, `false` if either value is not a date.
    func sameLastModified(_ stored: StoredResponseHead, _ fields: HTTPFields, received: Timestamp) -> Bool? {
        guard fields.contains(.lastModified) else { return nil }
        guard let new = StoredFields(fields, received: received, targeted: []).lastModified,
            let old = read(stored).lastModified
        else { return false }
        return new == old
    }
}
