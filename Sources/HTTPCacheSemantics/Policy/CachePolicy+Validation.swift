public import HTTPTypes

extension CachePolicy {
    /// The request with the stored response's validators (`If-None-Match`, `If-Modified-Since`) in
    /// place of or beside its own; `nil` if the stored response has no validator. RFC 9111 §4.3.1
    ///
    /// The caller's entity tags stay behind the stored one (`If-None-Match: "stored", "theirs"`).
    /// So the origin can report that the caller's copy is current although the stored one is not;
    /// ``confirmsCallersCopy(_:to:)`` recognises such a 304. The caller's `*` is removed, because
    /// every response would be a 304. The caller's tags are also removed if the stored response has
    /// none: the origin would compare them alone, and its 304 would not concern the stored
    /// response. The stored date replaces the caller's `If-Modified-Since`.
    ///
    /// `Range` and `If-Range` are dropped too: the response must validate or replace the whole
    /// stored response (RFC 9110 §14.2 lets a range be answered whole). `If-Match` and
    /// `If-Unmodified-Since` stay; they are for the origin alone (RFC 9111 §4.3.2).
    public func validationRequest(for stored: StoredResponseHead, request: HTTPRequest) -> HTTPRequest? {
        let storedTag = EntityTag(stored.fields)
        let lastModified = stored.fields.first { $0.name == .lastModified }
        let hasDate =
            lastModified?.withUnsafeBytesOfValue { HTTPDate.parse($0, reference: stored.responseTime) != nil } ?? false
        guard storedTag != nil || hasDate, request.headerFields.count < FieldRules.maximumCount else { return nil }
        var result = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
            result.headerFields[fields: name] = []
        }
        if let storedTag {
            // The stored tag comes first, with its exact bytes. A tag that differs from it by
            // weakness alone adds nothing.
            var value = storedTag.bytes
            for tag in Self.callersTags(of: request, beside: storedTag) { value += [0x2C, 0x20] + tag.bytes }
            result.headerFields.append(HTTPField(name: .ifNoneMatch, value: value))
        }
        if hasDate, let lastModified {
            var field = lastModified
            field.name = .ifModifiedSince
            result.headerFields.append(field)
        }
        return result
    }

    /// The entity tags of the request's own `If-None-Match` that are not the stored one.
    static func callersTags(of request: HTTPRequest, beside storedTag: EntityTag) -> [EntityTag] {
        EntityTag.list(ifNoneMatch: request.headerFields).filter { !$0.weaklyEquals(storedTag) }
    }

    /// Whether a 304 confirms the caller's own copy: its `ETag` is one of the request's own
    /// `If-None-Match`. RFC 9111 §4.3.3
    ///
    /// Call it when ``freshened(_:by:requestTime:responseTime:request:isForOthers:)`` returns
    /// `nil`: the 304 is not about the stored response. If it confirms the caller's copy, it goes
    /// unchanged to that caller alone. The comparison is weak (RFC 9110 §13.1.2). A 304 without a
    /// valid `ETag` confirms no copy for certain.
    ///
    /// - Parameter request: the request as the caller presented it.
    public func confirmsCallersCopy(_ notModified: HTTPResponse, to request: HTTPRequest) -> Bool {
        guard notModified.status.code == 304, let tag = EntityTag(notModified.headerFields) else { return false }
        return EntityTag.list(ifNoneMatch: request.headerFields).contains { $0.weaklyEquals(tag) }
    }

    /// Whether the request is conditional by its own fields, so that the caller expects a 304 or
    /// 412. RFC 9110 §13.1
    public func isConditional(_ request: HTTPRequest) -> Bool {
        request.headerFields.contains { field in
            switch field.name.canonicalName {
            case "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range": true
            default: false
            }
        }
    }

    /// Whether the stored response answers the request's own conditions with 304 (`true`: not
    /// modified). RFC 9110 §13.2.2, RFC 9111 §4.3.2
    ///
    /// Only for GET and HEAD and a stored 2xx. `If-None-Match` comes first, with weak comparison.
    /// Without it, `If-Modified-Since` is compared with `Last-Modified`, else `Date`, else the time
    /// of receipt. A cache does not evaluate `If-Match`, `If-Unmodified-Since` and `If-Range`.
    public func isNotModified(_ stored: StoredResponseHead, for request: HTTPRequest) -> Bool {
        guard request.method == .get || request.method == .head, stored.status.kind == .successful else { return false }
        if request.headerFields.contains(.ifNoneMatch) {
            return EntityTag.matches(EntityTag(stored.fields), ifNoneMatch: request.headerFields)
        }
        let conditions = request.headerFields[fields: .ifModifiedSince]
        // Several lines are not a valid date, and an invalid date is ignored. RFC 9110 §13.1.3
        guard conditions.count == 1, let condition = conditions.first,
            let since = condition.withUnsafeBytesOfValue({ HTTPDate.parse($0, reference: stored.responseTime) })
        else { return false }
        let fields = read(stored)
        return (fields.lastModified ?? fields.date ?? stored.responseTime) <= since
    }
}
