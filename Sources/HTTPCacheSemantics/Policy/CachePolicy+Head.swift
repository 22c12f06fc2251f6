public import HTTPTypes

/// What a response to HEAD does to a stored response. RFC 9111 §4.3.5
public enum HeadUpdate: Sendable, Hashable {
    /// It is about the same representation: the stored response has this head from now on.
    case freshen(StoredResponseHead)
    /// The representation is another by now: the stored response counts as stale. RFC 9111 §4.3.5
    case invalidate
    /// It says nothing about the stored response.
    case unrelated
}

extension CachePolicy {
    /// What a HEAD's response does to one stored response that its request could have been answered from. RFC 9111 §4.3.5
    ///
    /// Only a 200 to HEAD says something. It is about the stored representation where every validator that it brings (`ETag`, `Last-Modified`) matches the stored one and its
    /// `Content-Length`, if it has one, is the stored length; it then updates the stored fields as a 304 does. Anything else invalidates. One without validators and without a
    /// length matches, because there is nothing that it contradicts: that is what the RFC says, and HEAD is what it recommends where there are no validators.
    ///
    /// In a shared cache a response to a request with credentials updates nothing unless it is for everybody: §3.5 would not let it be stored either. A stored partial response
    /// (206) is not updated, because a HEAD's length is the whole's.
    ///
    /// - Parameters:
    ///   - stored: a stored response of the request's key that ``matchesVariant(_:_:)`` the request.
    ///   - bodyLength: the stored body's length in octets.
    ///   - request: the HEAD, as its caller presented it.
    ///   - isForOthers: see ``freshened(_:by:requestTime:responseTime:request:isForOthers:)``.
    public func headUpdate(
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
            let isExcused = directives.allowsSharing || (directives.mustRevalidate && !hasCookie)
            if hasCredentials && !isExcused { return .unrelated }
        }
        guard hasMatchingValidators(stored, fields, received: responseTime) else { return .invalidate }
        switch ContentLength(fields) {
        case .absent: break
        case .octets(let length) where stored.status.code == 206 || length == bodyLength: break
        case .octets, .malformed: return .invalidate
        }
        if stored.status.code == 206 { return .unrelated }
        // What was stored was no success, and by now it is one.
        guard stored.status.code == 200 else { return .invalidate }
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

    /// Every validator received is the stored one.
    private func hasMatchingValidators(
        _ stored: StoredResponseHead,
        _ fields: HTTPFields,
        received: Timestamp
    ) -> Bool {
        if fields.contains(.eTag) {
            guard let tag = EntityTag(fields), let storedTag = EntityTag(stored.fields) else { return false }
            // A strong tag names these very octets, so a weak one that is stored is not enough.
            guard tag.isWeak ? storedTag.weaklyEquals(tag) : storedTag.stronglyEquals(tag) else { return false }
        }
        guard fields.contains(.lastModified) else { return true }
        return sameLastModified(stored, fields, received: received) ?? false
    }
}

/// `Content-Length`. RFC 9110 §8.6
private enum ContentLength {
    case absent
    case octets(Int64)
    /// No number, or several that differ.
    case malformed

    init(_ fields: HTTPFields) {
        self = .absent
        for field in fields where field.name.canonicalName == "content-length" {
            field.withUnsafeBytesOfValue { add($0) }
        }
    }

    private mutating func add(_ octets: UnsafeBufferPointer<UInt8>) {
        var scanner = OctetScanner(octets)
        scanner.skipSeparators()
        if scanner.isAtEnd { self = .malformed }
        while !scanner.isAtEnd {
            let start = scanner.position
            scanner.skipMember()
            let range = octets.trimmed(start..<scanner.position)
            let number = range.allSatisfy { octets[$0].isDigit } ? Int64(octets: octets, in: range) : nil
            switch (self, number) {
            case (.absent, let number?): self = .octets(number)
            case (.octets(let earlier), let number?) where earlier == number: break
            default: self = .malformed
            }
            scanner.skipSeparators()
        }
    }
}

extension Int64 {
    /// Digits in a range; `nil` for none or for more than fit.
    fileprivate init?(octets: UnsafeBufferPointer<UInt8>, in range: Range<Int>) {
        guard !range.isEmpty else { return nil }
        var value: Int64 = 0
        for index in range {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(Int64(octets[index] &- 0x30))
            if overflow || carried { return nil }
            value = sum
        }
        self = value
    }
}
