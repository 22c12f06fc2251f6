package import HTTPTypes

extension CachePolicy {
    /// Returns the response head for a selection, built from the fields to serve. RFC 9110 §15.3.7,
    /// §15.5.17
    ///
    /// - One part has `Content-Range` and its own `Content-Length`.
    /// - Several parts have `Content-Type: multipart/byteranges` and the length of their
    ///   ``MultipartPlan``.
    /// - `Content-Digest` and `Content-MD5` are removed, because they describe other content.
    /// - A 416 has none of the representation's fields and no freshness, but it has an age, like
    ///   every response from a store (RFC 9111 §5.1).
    /// - A partial response that contains the whole representation is served as a 200.
    /// - For ``StoredSelection/missing(_:)`` the result is the stored head, unchanged.
    ///
    /// - Parameters:
    ///   - servedFields: the result of ``servedFields(of:age:)``.
    ///   - boundary: the boundary between several parts, the same as for their plan.
    package func head(
        for selection: StoredSelection,
        of stored: StoredResponseHead,
        servedFields: HTTPFields,
        bodyLength: Int64,
        boundary: String
    ) -> HTTPResponse {
        var fields = servedFields
        // A correct head matters more than an excessive number of fields, which no transport would
        // deliver.
        if fields.count > FieldRules.maximumCount { fields.removeLast(fields.count - FieldRules.maximumCount) }
        switch selection {
        case .missing:
            return HTTPResponse(status: stored.status, headerFields: fields)
        case .complete:
            guard stored.status.code == 206 else { return HTTPResponse(status: stored.status, headerFields: fields) }
            fields.removePartialContentFields()
            fields[.contentLength] = "\(max(0, bodyLength))"
            return HTTPResponse(status: .ok, headerFields: fields)
        case .range(let range, let completeLength):
            fields.removePartialContentFields()
            fields[.contentLength] = "\(range.length)"
            fields[.contentRange] = ContentRange(range: range, completeLength: completeLength).fieldValue
            return HTTPResponse(status: .partialContent, headerFields: fields)
        case .ranges:
            let plan = multipartPlan(for: selection, of: stored, boundary: boundary)
            fields.removePartialContentFields()
            fields[.contentLength] = plan.map { "\($0.length)" }
            fields[.contentType] = "multipart/byteranges; boundary=\(MultipartPlan.boundary(boundary))"
            return HTTPResponse(status: .partialContent, headerFields: fields)
        case .unsatisfiable(let completeLength):
            fields.removeAll { Self.isAboutContent($0.name.canonicalName) }
            fields[.contentLength] = "0"
            fields[.contentRange] = ContentRange.unsatisfied(completeLength: completeLength)
            return HTTPResponse(status: .rangeNotSatisfiable, headerFields: fields)
        }
    }

    /// Returns the body of a response with several parts, or `nil` for every other selection.
    package func multipartPlan(
        for selection: StoredSelection,
        of stored: StoredResponseHead,
        boundary: String
    ) -> MultipartPlan? {
        guard case .ranges(let ranges, let completeLength) = selection else { return nil }
        return MultipartPlan(
            ranges: ranges,
            completeLength: completeLength,
            contentType: stored.fields.first { $0.name == .contentType },
            boundary: boundary,
            bodyOffset: stored.partialRange?.range.lowerBound ?? 0
        )
    }

    /// Returns whether a 416 must not repeat a field of the stored response, because the field
    /// describes the representation or would give the 416 the same lifetime.
    private static func isAboutContent(_ canonicalName: String) -> Bool {
        switch canonicalName {
        case "content-encoding", "content-language", "content-length", "content-location", "content-range": true
        case "content-type", "content-disposition", "content-digest", "content-md5", "repr-digest", "digest": true
        case "etag", "last-modified": true
        case "cache-control", "pragma", "expires", "cache-groups", "no-vary-search", "set-cookie": true
        default: canonicalName.hasSuffix("-cache-control")
        }
    }
}

extension HTTPFields {
    /// Removes the fields that describe the bytes of one message rather than the representation.
    mutating func removePartialContentFields() {
        removeAll { field in
            switch field.name.canonicalName {
            case "content-range", "content-length", "content-digest", "content-md5": true
            default: false
            }
        }
    }
}
