public import HTTPTypes

extension CachePolicy {
    /// Returns the request with the stored response's validators (`If-None-Match`,
    /// `If-Modified-Since`), or `nil` if the stored response has no validator. RFC 9111 §4.3.1
    ///
    /// - The stored entity tag comes first and the caller's tags follow (`If-None-Match: "stored",
    ///   "theirs"`), so the origin can report that the caller's copy is current although the stored
    ///   response is not; `confirmsCallersCopy(_:to:)` detects such a 304.
    /// - The caller's `*` is removed, because otherwise every response would be a 304.
    /// - The caller's tags are also removed if the stored response has no tag: the origin would
    ///   compare only the caller's tags, and its 304 would not concern the stored response.
    /// - The stored date replaces the caller's `If-Modified-Since`.
    /// - `Range` and `If-Range` are removed if the stored response is complete, because the
    ///   response must validate or replace all of it (RFC 9110 §14.2 allows serving the whole for a
    ///   range). A GET for a stored part (206) keeps both: otherwise, the origin would send the
    ///   whole representation if it changed. It evaluates the validators before the range (RFC 9110
    ///   §13.2.2).
    /// - `If-Match` and `If-Unmodified-Since` stay; only the origin evaluates them (RFC 9111
    ///   §4.3.2).
    public func validationRequest(for stored: StoredResponseHead, request: HTTPRequest) -> HTTPRequest? {
        let storedTag = EntityTag(stored.fields)
        let lastModified = stored.fields.first { $0.name == .lastModified }
        let hasDate =
            lastModified?.withUnsafeBytesOfValue { HTTPDate.parse($0, reference: stored.responseTime) != nil } ?? false
        guard storedTag != nil || hasDate, request.headerFields.count < FieldRules.maximumCount else { return nil }
        var result = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince] { result.headerFields[fields: name] = [] }
        if stored.status.code != 206 || request.method != .get {
            for name in [HTTPField.Name.range, .ifRange] { result.headerFields[fields: name] = [] }
        }
        if let storedTag {
            // The stored tag comes first, with its exact bytes. A tag that differs only by weakness
            // is omitted, because it has no additional effect.
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

    /// Returns the entity tags in the request's own `If-None-Match` that differ from the stored
    /// tag.
    static func callersTags(of request: HTTPRequest, beside storedTag: EntityTag) -> [EntityTag] {
        EntityTag.list(ifNoneMatch: request.headerFields).filter { !$0.weaklyEquals(storedTag) }
    }

    /// Returns whether a 304 confirms the caller's own copy: its `ETag` is in the request's own
    /// `If-None-Match`. RFC 9111 §4.3.3
    ///
    /// Call it if ``freshened(_:by:requestTime:responseTime:request:isForOthers:)`` returns `nil`
    /// because the 304 does not concern the stored response. If the 304 confirms the caller's copy,
    /// it is passed unchanged to that caller only. The comparison is weak (RFC 9110 §13.1.2). A 304
    /// without a valid `ETag` never confirms a copy.
    ///
    /// - Parameter request: the request as the caller presented it.
    package func confirmsCallersCopy(_ notModified: HTTPResponse, to request: HTTPRequest) -> Bool {
        guard notModified.status.code == 304, let tag = EntityTag(notModified.headerFields) else { return false }
        return EntityTag.list(ifNoneMatch: request.headerFields).contains { $0.weaklyEquals(tag) }
    }

    /// Returns whether the request has conditions of its own, so that the caller expects a 304 or
    /// 412. RFC 9110 §13.1
    package func isConditional(_ request: HTTPRequest) -> Bool {
        // By index, because a loop over the fields copies each field.
        let fields = request.headerFields
        return fields.indices.contains { index in
            let name = fields[index].name.canonicalName
            return switch name.utf8.count {
            case 8: name == "if-match" || name == "if-range"
            case 13: name == "if-none-match"
            case 17: name == "if-modified-since"
            case 19: name == "if-unmodified-since"
            default: false
            }
        }
    }

    /// Returns whether the stored response meets the request's own conditions for a 304 (`true`
    /// means not modified). RFC 9110 §13.2.2, RFC 9111 §4.3.2
    ///
    /// This applies only to GET and HEAD and a stored 2xx. `If-None-Match` is checked first, with
    /// weak comparison. Without it, `If-Modified-Since` is compared with `Last-Modified`, else
    /// `Date`, else the time of receipt. A cache does not evaluate `If-Match`,
    /// `If-Unmodified-Since` and `If-Range`.
    package func isNotModified(_ stored: StoredResponseHead, for request: HTTPRequest) -> Bool {
        guard request.method == .get || request.method == .head, stored.status.kind == .successful else { return false }
        if request.headerFields.contains(.ifNoneMatch) {
            return EntityTag.matches(EntityTag(stored.fields), ifNoneMatch: request.headerFields)
        }
        let conditions = request.headerFields[fields: .ifModifiedSince]
        // Several lines do not form a valid date, and an invalid date is ignored. RFC 9110 §13.1.3
        guard conditions.count == 1, let condition = conditions.first,
            let since = condition.withUnsafeBytesOfValue({ HTTPDate.parse($0, reference: stored.responseTime) })
        else { return false }
        let fields = read(stored)
        return (fields.lastModified ?? fields.date ?? stored.responseTime) <= since
    }
}
