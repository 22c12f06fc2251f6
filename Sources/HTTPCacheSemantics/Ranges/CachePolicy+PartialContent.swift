public import HTTPTypes

extension CachePolicy {
    /// Whether a 206 may be stored as it is, one part of a representation, and for whom. RFC 9111 §3.3, §3.4
    ///
    /// The answer to a GET with `Range`, in one part: a valid `Content-Range`, a `Content-Length` (where there is one) that fits it, not `multipart/byteranges`, and a lifetime or a
    /// validator, without which nothing could be done with it later. For the rest what ``storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)`` says of the same
    /// response with status 200. That the body is as long as the range says is the caller's to check, when it has come.
    public func partialStorability(
        of response: HTTPResponse,
        to request: HTTPRequest,
        hasCredentials: Bool,
        hasExplicitExpiry: Bool = false
    ) -> Storability {
        let fields = response.headerFields
        guard response.status.code == 206, request.method == .get, request.headerFields.contains(.range),
            Self.part(fields) != nil
        else { return .forbidden(.partialContent) }
        let directives = ResponseDirectives(fields)
        let hasLifetime =
            hasExplicitExpiry || directives.maxAge != nil || fields.contains(.expires)
            || (kind == .shared && directives.sMaxage != nil)
        let lastModified = fields.first { $0.name == .lastModified }
        let hasDate =
            lastModified?.withUnsafeBytesOfValue { HTTPDate.parse($0, reference: Timestamp(seconds: 0)) != nil }
            ?? false
        guard hasLifetime || EntityTag(fields) != nil || hasDate else { return .forbidden(.partialContent) }
        var whole = response
        whole.status = .ok
        return storability(
            of: whole,
            to: request,
            hasCredentials: hasCredentials,
            hasExplicitExpiry: hasExplicitExpiry
        )
    }

    /// The one part that a 206 holds, where its fields agree about it.
    static func part(_ fields: HTTPFields) -> ContentRange? {
        guard let part = ContentRange(fields) else { return nil }
        let isMultipart = fields.contains { field in
            field.name == .contentType
                && field.withUnsafeBytesOfValue { octets in
                    var scanner = OctetScanner(octets)
                    scanner.skipWhitespace()
                    let start = scanner.position
                    _ = scanner.token()
                    scanner.advance()
                    _ = scanner.token()
                    return octets.equals("multipart/byteranges", in: start..<min(scanner.position, octets.count))
                }
        }
        guard !isMultipart else { return nil }
        let length = part.range.upperBound - part.range.lowerBound
        for field in fields where field.name == .contentLength {
            let value = field.withUnsafeBytesOfValue { octets -> Int64? in
                let range = octets.trimmed(0..<octets.count)
                var scanner = OctetScanner(UnsafeBufferPointer(rebasing: octets[range]))
                guard let value = scanner.exactNumber(), scanner.isAtEnd else { return nil }
                return value
            }
            guard value == length else { return nil }
        }
        return part
    }

    /// A request for the rest of a stored partial response, so that the whole can answer; `nil` where that cannot be asked for. RFC 9110 §14.2, §13.1.5
    ///
    /// Only for a GET that asks for the whole (or `bytes=0-`), and a stored part that begins at 0, is as long as it says, does not hold
    /// everything, and has a strong validator. `If-Range` makes an origin whose representation changed send the whole new one (200). Where
    /// the complete length is not known, the origin may answer 416: the part was the whole.
    ///
    /// The caller's `Range`, `If-Range`, `If-None-Match` and `If-Modified-Since` go; `If-Match` and `If-Unmodified-Since` stay.
    public func completionRequest(
        for stored: StoredResponseHead,
        bodyLength: Int64,
        request: HTTPRequest
    ) -> HTTPRequest? {
        guard request.method == .get, let part = stored.partialRange, part.range == 0..<max(0, bodyLength),
            bodyLength < part.completeLength ?? .max, let validator = stored.strongValidator,
            rangeWish(of: request, for: stored)?.isWhole ?? true,
            request.headerFields.count < FieldRules.maximumCount
        else { return nil }
        var result = request
        for name in [HTTPField.Name.ifNoneMatch, .ifModifiedSince, .range, .ifRange] {
            result.headerFields[fields: name] = []
        }
        result.headerFields[.range] = "bytes=\(bodyLength)-"
        let name: HTTPField.Name
        switch validator {
        case .tag: name = .eTag
        case .date: name = .lastModified
        }
        // The validator goes back octet by octet as it came.
        guard var field = stored.fields.first(where: { $0.name == name }) else { return nil }
        field.name = .ifRange
        result.headerFields.append(field)
        return result
    }
}
