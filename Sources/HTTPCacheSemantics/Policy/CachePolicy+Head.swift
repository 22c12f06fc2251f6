package import HTTPTypes

/// The effect of a response to HEAD on a stored response. RFC 9111 §4.3.5
package enum HeadUpdate: Sendable, Hashable {
    /// The response describes the same representation, so the stored response gets this head.
    case freshen(StoredResponseHead)
    /// The representation has changed, so the stored response becomes stale. RFC 9111 §4.3.5
    case invalidate
    /// The response does not concern the stored response.
    case unrelated
}

extension CachePolicy {
    /// Returns the effect of a response to HEAD on a stored response that could have served the
    /// request. RFC 9111 §4.3.5
    ///
    /// Only a 200 has an effect. It updates the stored fields, as a 304 does, if all of these hold:
    ///
    /// - at least one of its validators (`ETag`, `Last-Modified`) matches the stored validator;
    /// - no validator differs;
    /// - its `Content-Length`, if present, is the stored length.
    ///
    /// A validator or a length that differs invalidates the stored response.
    ///
    /// **A response without validators never freshens the stored response.** RFC 9111 would allow
    /// it, because no validator differs. But one HEAD per lifetime could then give an old body new
    /// fields indefinitely, and the body would look new. If such a response describes another
    /// representation (its type, coding, language or digest), the stored response is invalidated,
    /// as §4.3.5 permits. If it describes the same representation, or does not describe one, the
    /// stored response keeps its age and lifetime. A missing field is not a difference: RFC 9110
    /// §9.3.2 lets a server omit fields for which it would have to generate the content.
    ///
    /// In a shared cache, a response to a request with credentials has no effect unless it may be
    /// shared with everyone; §3.5 would not allow storing it either. A stored partial response
    /// (206) is not updated, because its fields describe a part.
    ///
    /// - Parameters:
    ///   - stored: a stored response under the request's key that matches the request
    ///     (``matchesVariant(_:_:)``).
    ///   - bodyLength: the stored body's length in bytes.
    ///   - request: the HEAD request, as its caller presented it.
    ///   - isForOthers: see ``freshened(_:by:requestTime:responseTime:request:isForOthers:)``.
    package func headUpdate(
        of stored: StoredResponseHead,
        bodyLength: Int64,
        by response: HTTPResponse,
        to request: HTTPRequest,
        requestTime: Timestamp,
        responseTime: Timestamp,
        isForOthers: Bool = false
    ) -> HeadUpdate {
        guard request.method == .head, response.status.code == 200 else { return .unrelated }
        let fields = response.headerFields
        if kind == .shared {
            let directives = directives(of: fields, updating: stored.fields)
            let ignoresCookie = overrides(of: stored.fields)?.ignoresCookie == true
            let hasCookie = !ignoresCookie && request.headerFields.contains(.cookie)
            let hasCredentials = hasCookie || request.headerFields.contains(.authorization)
            let isShareable = sharesWithCredentials(
                directives,
                overrides(of: stored.fields),
                isLifetimeReplaced: isLifetimeReplaced(stored, read(stored)),
                countsMustRevalidate: !hasCookie
            )
            if hasCredentials && !isShareable { return .unrelated }
            let isInfluenced =
                overrides(of: stored.fields)?.bindsToCookies(FieldNameList(.vary, in: stored.fields)) == true
            if isInfluenced, request.headerFields.contains(.cookie) { return .unrelated }
        }
        let validators = compareValidators(of: stored, with: fields, received: responseTime)
        if validators == .different { return .invalidate }
        let storedLength =
            stored.status.code == 206 ? stored.partialRange?.completeLength : StatedLength(clamping: bodyLength)
        switch ContentLength(fields) {
        case .absent: break
        case .bytes(let length) where length == storedLength ?? length: break
        case .bytes, .malformed: return .invalidate
        }
        if stored.status.code == 206 { return .unrelated }
        // The stored response is not a 200, but the resource now returns 200.
        guard stored.status.code == 200 else { return .invalidate }
        guard validators == .same else {
            return Self.describesAnother(than: stored, fields) ? .invalidate : .unrelated
        }
        let updated = updated(
            stored,
            with: fields,
            requestTime: requestTime,
            responseTime: responseTime,
            request: request,
            isForOthers: isForOthers
        )
        return updated.map(HeadUpdate.freshen) ?? .unrelated
    }

    /// The result of comparing a response's validators with the stored validators.
    private enum ValidatorComparison {
        /// The response has no validators.
        case absent
        /// All of the response's validators match.
        case same
        case different
    }

    private func compareValidators(
        of stored: StoredResponseHead,
        with fields: HTTPFields,
        received: Timestamp
    ) -> ValidatorComparison {
        let tag = Self.sameEntityTag(stored, fields)
        let date = sameLastModified(stored, fields, received: received)
        if tag == false || date == false { return .different }
        return tag == true || date == true ? .same : .absent
    }

    /// Returns whether the response has the stored `ETag`.
    ///
    /// Returns `nil` if it has none; a malformed `ETag` never matches.
    private static func sameEntityTag(_ stored: StoredResponseHead, _ fields: HTTPFields) -> Bool? {
        guard fields.contains(.eTag) else { return nil }
        guard let tag = EntityTag(fields), let storedTag = EntityTag(stored.fields) else { return false }
        // A strong tag identifies exact bytes, so a weak stored tag does not match it.
        return tag.isWeak ? storedTag.weaklyEquals(tag) : storedTag.stronglyEquals(tag)
    }

    /// Returns whether a field that distinguishes representations differs from the stored field.
    /// RFC 9110 §8, RFC 9530
    private static func describesAnother(than stored: StoredResponseHead, _ fields: HTTPFields) -> Bool {
        fields.contains { field in
            switch field.name.canonicalName {
            case "content-type", "content-encoding", "content-language", "content-location", "repr-digest",
                "content-digest", "content-md5", "digest":
                fields[values: field.name] != stored.fields[values: field.name]
            default: false
            }
        }
    }
}
