package import HTTPTypes

extension CachePolicy {
    /// Returns whether a 206 may be stored as one part of a representation, and for whom. RFC 9111
    /// §3.3, §3.4
    ///
    /// The response must meet these conditions:
    ///
    /// - It responds to a GET with `Range`.
    /// - It consists of one part: a valid `Content-Range`, a matching `Content-Length` (if
    ///   present), and not `multipart/byteranges`.
    /// - It has a lifetime or a validator, because it could not be used later without either.
    ///
    /// Apart from that, the rules for a 200 apply: see
    /// ``storability(of:to:hasCredentials:methodIsKeyed:hasExplicitExpiry:)``. After the transfer,
    /// the caller checks that the body is as long as the range.
    package func partialStorability(
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
        // The times do not matter, because only the source of the lifetime is needed.
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

    /// Returns the only part in a 206, if its fields are consistent.
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
        switch ContentLength(fields) {
        case .absent: return part
        case .bytes(let length): return length == part.range.length ? part : nil
        case .malformed: return nil
        }
    }

    /// Returns the received part of an interrupted 200 as a partial response that can be completed
    /// later, or `nil` if that is impossible. RFC 9111 §3.3
    ///
    /// It must be a 200 to a GET with a strong validator, and at least one byte must have arrived.
    /// The complete length is its `Content-Length`, if that is valid and was not reached; otherwise
    /// it is unknown.
    ///
    /// - Parameters:
    ///   - head: the head that would have been stored with the whole body.
    ///   - receivedLength: the number of received body bytes.
    package func incomplete(_ head: StoredResponseHead, receivedLength: Int64) -> StoredResponseHead? {
        guard head.status.code == 200, head.requestMethod == .get, receivedLength > 0, head.strongValidator != nil,
            head.fields.count < FieldRules.maximumCount
        else { return nil }
        let received = StatedLength(clamping: receivedLength)
        let completeLength: StatedLength?
        switch ContentLength(head.fields) {
        case .absent: completeLength = nil
        case .bytes(let length) where received < length: completeLength = length
        case .bytes, .malformed: return nil
        }
        var result = head
        result.status = .partialContent
        result.fields.removePartialContentFields()
        result.fields[.contentLength] = "\(receivedLength)"
        result.fields[.contentRange] =
            ContentRange(range: 0..<received, completeLength: completeLength).fieldValue
        return result
    }

    /// Returns a request for the rest of a stored partial response, so that the whole
    /// representation can be served, or `nil` if the rest cannot be requested. RFC 9110 §14.2,
    /// §13.1.5
    ///
    /// The request must be a GET of the whole representation (or of `bytes=0-`). The stored part
    /// must begin at 0, have the stated length, be incomplete, and have a strong validator.
    /// `If-Range` makes an origin send the whole new representation (200) if it changed. If the
    /// complete length is unknown, the origin may respond with 416, which means that the part was
    /// already complete.
    ///
    /// The caller's `Range`, `If-Range`, `If-None-Match` and `If-Modified-Since` are removed;
    /// `If-Match` and `If-Unmodified-Since` stay.
    package func completionRequest(
        for stored: StoredResponseHead,
        bodyLength: Int64,
        request: HTTPRequest
    ) -> HTTPRequest? {
        let length = StatedLength(clamping: bodyLength)
        guard request.method == .get, let part = stored.partialRange, part.range == 0..<length,
            length < part.completeLength ?? .maximum, let validator = stored.strongValidator,
            requestedRanges(of: request, for: stored)?.isWhole ?? true,
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
        // Send the validator back with its exact bytes.
        guard var field = stored.fields.first(where: { $0.name == name }) else { return nil }
        field.name = .ifRange
        result.headerFields.append(field)
        return result
    }
}
