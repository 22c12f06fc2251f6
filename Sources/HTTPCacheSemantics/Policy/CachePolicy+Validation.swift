public import HTTPTypes

extension CachePolicy {
    /// The request with the stored response's validators (`If-None-Match`, `If-Modified-Since`) in place of its own conditions;
    /// `nil` when the stored response has no validator. RFC 9111 §4.3.1
    ///
    /// `Range` and `If-Range` are dropped with them: the answer is to validate or replace the whole stored response (RFC 9110 §14.2 lets a
    /// range be answered whole). `If-Match` and `If-Unmodified-Since` stay; they are for the origin alone (RFC 9111 §4.3.2).
    public func validationRequest(for stored: StoredResponseHead, request: HTTPRequest) -> HTTPRequest? {
        let hasTag = EntityTag(stored.fields) != nil
        let lastModified = stored.fields.first { $0.name == .lastModified }
        let hasDate =
            lastModified?.withUnsafeBytesOfValue { HTTPDate.parse($0, reference: stored.responseTime) != nil } ?? false
        guard hasTag || hasDate, request.headerFields.count < FieldRules.maximumCount else { return nil }
        var result = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
            result.headerFields[fields: name] = []
        }
        // The validators go back octet by octet as they came.
        if hasTag, let tag = stored.fields.first(where: { $0.name == .eTag }) {
            var field = tag
            field.name = .ifNoneMatch
            result.headerFields.append(field)
        }
        if hasDate, let lastModified {
            var field = lastModified
            field.name = .ifModifiedSince
            result.headerFields.append(field)
        }
        return result
    }

    /// Is this request conditional by its own fields, so that the caller expects a 304 or 412 itself? RFC 9110 §13.1.
    public func isConditional(_ request: HTTPRequest) -> Bool {
        request.headerFields.contains { field in
            switch field.name.canonicalName {
            case "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range": true
            default: false
            }
        }
    }

    /// The answer to the request's own conditions from the stored response: `true` = not modified. RFC 9110 §13.2.2, RFC 9111 §4.3.2
    ///
    /// Only for GET and HEAD and a stored 2xx. `If-None-Match` goes first, with weak comparison; without it `If-Modified-Since` is compared with
    /// `Last-Modified`, else `Date`, else the time of receipt. `If-Match`, `If-Unmodified-Since` and `If-Range` are not a cache's to answer.
    public func isNotModified(_ stored: StoredResponseHead, for request: HTTPRequest) -> Bool {
        guard request.method == .get || request.method == .head, stored.status.kind == .successful else { return false }
        if request.headerFields.contains(.ifNoneMatch) {
            return EntityTag.matches(EntityTag(stored.fields), ifNoneMatch: request.headerFields)
        }
        let conditions = request.headerFields[fields: .ifModifiedSince]
        // More than one line is no valid date, and an invalid date is ignored. RFC 9110 §13.1.3
        guard conditions.count == 1, let condition = conditions.first,
            let since = condition.withUnsafeBytesOfValue({ HTTPDate.parse($0, reference: stored.responseTime) })
        else { return false }
        let fields = StoredFields(stored.fields, received: stored.responseTime)
        return (fields.lastModified ?? fields.date ?? stored.responseTime) <= since
    }
}
