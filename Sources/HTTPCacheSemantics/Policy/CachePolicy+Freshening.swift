public import HTTPTypes

extension CachePolicy {
    /// The stored response freshened by a 304: its fields updated **and** added to, its times replaced, its invalidation lifted. RFC 9111 §4.3.4, §3.2
    ///
    /// Every field of the 304 replaces all stored lines of its name, except hop-by-hop fields and those that describe the stored octets (`Content-Encoding`, `Content-Length`,
    /// `Content-Range`). A stored `Age` goes when the 304 brings none, and a 304 without `Date` gets the time it was received, or the response would be old at once.
    /// `Vary` is replaced only where `request` is given, because the selecting fields must be those of the new `Vary`. ``StoredResponseHead/explicitExpiry`` stays for the caller to renew.
    ///
    /// - Parameter request: the request that was validated.
    /// - Returns: `nil` when the 304 is not about this stored response: its status is another, or a validator that it brings contradicts the stored one. One
    ///   without any validator is taken to be about it, because only this response's validators were sent.
    public func freshened(
        _ stored: StoredResponseHead,
        by notModified: HTTPResponse,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: HTTPRequest? = nil
    ) -> StoredResponseHead? {
        guard notModified.status.code == 304, isAbout(stored, notModified.headerFields, received: responseTime) else {
            return nil
        }
        guard stored.fields.count + notModified.headerFields.count < FieldRules.maximumCount else { return nil }
        var update = storable(notModified.headerFields, ResponseDirectives(notModified.headerFields))
        update.removeAll { field in
            FieldRules.isFixedByContent(field.name.canonicalName) || (request == nil && field.name == .vary)
        }
        if !update.contains(.date) {
            update.append(HTTPField(name: .date, value: HTTPDate.format(responseTime)))
        }

        var result = stored
        result.fields.removeAll { $0.name == .age || update.contains($0.name) }
        result.fields.append(contentsOf: update)
        if let request, update.contains(.vary) {
            result.selectingFields = selectingFields(of: request, vary: FieldNameList(.vary, in: result.fields))
        }
        result.requestTime = requestTime
        result.responseTime = responseTime
        result.isInvalidated = false
        return result
    }

    /// Whether the 304's validators let it be about this response. RFC 9111 §4.3.4
    private func isAbout(_ stored: StoredResponseHead, _ fields: HTTPFields, received: Timestamp) -> Bool {
        let storedTag = EntityTag(stored.fields)
        if let tag = EntityTag(fields) {
            if !tag.isWeak { return storedTag?.stronglyEquals(tag) ?? false }
            if let storedTag { return storedTag.weaklyEquals(tag) }
            // A weak tag that is new says nothing; the date has to.
            return sameLastModified(stored, fields, received: received) ?? false
        }
        return sameLastModified(stored, fields, received: received) ?? true
    }

    /// `nil` where one of the two has no `Last-Modified`.
    private func sameLastModified(
        _ stored: StoredResponseHead,
        _ fields: HTTPFields,
        received: Timestamp
    ) -> Bool? {
        guard let new = StoredFields(fields, received: received).lastModified,
            let old = StoredFields(stored.fields, received: stored.responseTime).lastModified
        else { return nil }
        return new == old
    }
}
