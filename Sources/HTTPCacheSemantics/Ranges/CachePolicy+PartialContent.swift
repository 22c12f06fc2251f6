public import HTTPTypes

extension CachePolicy {
    /// Whether a 206 may be stored as it is, one part of a representation, and for whom. RFC 9111
    /// §3.3, §3.4
    ///
    /// The answer to a GET with `Range`, in one part: a valid `Content-Range`, a `Content-Length`
    /// (where there is one) that fits it, not `multipart/byteranges`, and a lifetime or a
    /// validator, without which nothing could be done with it later. For the rest what
    /// ``storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)`` says of the same
    /// response with status 200. That the body is as long as the range says is the caller's to
    /// check, when it has come.
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
        var whole = response
        whole.status = .ok
        // Times say nothing here: only where a lifetime comes from is asked.
        let epoch = Timestamp(seconds: 0)
        let head = StoredResponseHead(status: .ok, fields: fields, requestTime: epoch, responseTime: epoch)
        let hasLifetime = hasExplicitExpiry || freshnessLifetime(of: head).source != .none
        guard
            hasLifetime || EntityTag(fields) != nil
                || StrongValidator.date(.lastModified, fields, received: epoch) != nil
        else { return .forbidden(.partialContent) }
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
                && field.withUnsafeBytesOfValue { bytes in
                    var scanner = ByteScanner(bytes)
                    scanner.skipWhitespace()
                    let start = scanner.position
                    _ = scanner.token()
                    scanner.advance()
                    _ = scanner.token()
                    return bytes.equals("multipart/byteranges", in: start..<min(scanner.position, bytes.count))
                }
        }
        guard !isMultipart else { return nil }
        let length = part.range.upperBound - part.range.lowerBound
        for field in fields where field.name == .contentLength {
            guard contentLength(field) == length else { return nil }
        }
        return part
    }

    /// Digits and nothing else.
    private static func contentLength(_ field: HTTPField) -> Int64? {
        field.withUnsafeBytesOfValue { bytes in
            let range = bytes.trimmed(0..<bytes.count)
            var scanner = ByteScanner(UnsafeBufferPointer(rebasing: bytes[range]))
            guard let value = scanner.exactNumber(), scanner.isAtEnd else { return nil }
            return value
        }
    }

    /// What came of a 200 that broke off, as a partial response that can be completed later; `nil`
    /// where nothing could be. RFC 9111 §3.3
    ///
    /// For a 200 to a GET with a strong validator of which at least one byte came. The complete
    /// length is its `Content-Length`, where it has one that is valid and not yet reached, else not
    /// known.
    ///
    /// - Parameters:
    ///   - head: as it would have been stored, had the body come whole.
    ///   - receivedLength: bytes of the body that came.
    public func incomplete(_ head: StoredResponseHead, receivedLength: Int64) -> StoredResponseHead? {
        guard head.status.code == 200, head.requestMethod == .get, receivedLength > 0, head.strongValidator != nil,
            head.fields.count < FieldRules.maximumCount
        else { return nil }
        let lengths = head.fields.filter { $0.name == .contentLength }.map(Self.contentLength)
        var completeLength: Int64?
        if let first = lengths.first {
            guard let length = first, lengths.allSatisfy({ $0 == length }), receivedLength < length else { return nil }
            completeLength = length
        }
        var result = head
        result.status = .partialContent
        result.fields.removePartialContentFields()
        result.fields[.contentLength] = "\(receivedLength)"
        result.fields[.contentRange] =
            ContentRange(range: 0..<receivedLength, completeLength: completeLength).fieldValue
        return result
    }

    /// A request for the rest of a stored partial response, so that the whole can answer; `nil`
    /// where that cannot be asked for. RFC 9110 §14.2, §13.1.5
    ///
    /// Only for a GET that asks for the whole (or `bytes=0-`), and a stored part that begins at 0,
    /// is as long as it says, does not hold everything, and has a strong validator. `If-Range`
    /// makes an origin whose representation changed send the whole new one (200). Where the
    /// complete length is not known, the origin may answer 416: the part was the whole.
    ///
    /// The caller's `Range`, `If-Range`, `If-None-Match` and `If-Modified-Since` go; `If-Match` and
    /// `If-Unmodified-Since` stay.
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
        // The validator goes back byte by byte as it came.
        guard var field = stored.fields.first(where: { $0.name == name }) else { return nil }
        field.name = .ifRange
        result.headerFields.append(field)
        return result
    }
}
