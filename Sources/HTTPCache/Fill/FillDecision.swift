package import HTTPCacheSemantics
package import HTTPTypes

/// What a fill does with the head that the origin sent. Pure: request, stored response and head in, decision out.
package enum FillDecision: Sendable {
    /// A 304 about the stored response: it has this head now.
    case freshen(StoredResponse, head: StoredResponseHead)
    /// A 304 about something else: ask again without validators.
    case askAgain
    /// Store it under this draft, and share it.
    case store(ResponseDraft)
    /// Nobody but the caller whose request this was may have it.
    case passThrough(StorageRefusal?)
}

/// What a fill knows of its request.
package struct FillContext: Sendable {
    /// The request as its caller presented it, without the cache's validators.
    package var presented: CacheRequest
    /// The presented head as variants are selected by it: credentials replaced.
    package var selecting: HTTPRequest
    package var key: CacheKey
    package var validating: StoredResponse?
    /// A stored success for this key and variant, which an error must not replace.
    package var hasStoredSuccess: Bool
    package var requestTime: Timestamp
    package var policy: CachePolicy

    package func decide(_ response: HTTPResponse, at responseTime: Timestamp) -> FillDecision {
        if response.status == .notModified, let validating {
            guard
                let head = policy.freshened(
                    validating.head,
                    by: response,
                    requestTime: requestTime,
                    responseTime: responseTime,
                    request: selecting
                )
            else { return .askAgain }
            return .freshen(validating, head: withCallersExpiry(head))
        }
        let explicitExpiry = explicitExpiry(at: responseTime)
        let storability = policy.storability(
            of: response,
            to: presented.head,
            hasCredentials: presented.principal != nil
                || CredentialPartition.hasCredentials(presented.head.headerFields),
            methodIsKeyed: presented.isContentKeyed,
            hasExplicitExpiry: explicitExpiry != nil && response.status.kind == .successful
        )
        let partition: CacheKey
        switch storability {
        case .forbidden(let refusal): return .passThrough(refusal)
        case .shared: partition = key.inPartition(.shared)
        case .principal: partition = key
        }
        // A stream of events has no end that a later reader could wait for.
        if response.isEndless { return .passThrough(nil) }
        // An error never takes the place of a stored success.
        if hasStoredSuccess, response.status.code >= 400 { return .passThrough(nil) }
        let head = StoredResponseHead(
            requestMethod: presented.head.method,
            selectingFields: policy.selectingFields(of: selecting, for: response),
            status: response.status,
            fields: policy.storedFields(of: response),
            requestTime: requestTime,
            responseTime: responseTime,
            explicitExpiry: response.status.kind == .successful ? explicitExpiry : nil
        )
        return .store(
            ResponseDraft(
                key: partition,
                head: head,
                freshUntil: policy.freshUntil(head),
                isUsableStale: policy.isUsableStale(head),
                expectedLength: response.contentLength,
                storedAt: responseTime
            )
        )
    }

    private func explicitExpiry(at now: Timestamp) -> Timestamp? {
        guard case .expiring(let expiry) = presented.storage else { return nil }
        return expiry.instant(storedAt: now)
    }

    private func withCallersExpiry(_ head: StoredResponseHead) -> StoredResponseHead {
        var head = head
        head.explicitExpiry = explicitExpiry(at: head.responseTime)
        return head
    }
}

extension CacheRequest {
    /// QUERY always, POST where the caller opted in. RFC 10008, RFC 9111 §2
    package var isContentKeyed: Bool {
        head.method.rawValue == "QUERY" || (keysContent && head.method == .post)
    }
}

extension CachePolicy {
    /// Whether it may answer, however stale, when the origin cannot be reached: nothing forbids it, and it is no error. An old error is no answer.
    func isUsableStale(_ head: StoredResponseHead) -> Bool {
        staleUse(of: head) == .allowed && head.status.code < 400
    }
}

extension HTTPResponse {
    /// Media types whose content goes on for as long as somebody listens.
    fileprivate var isEndless: Bool {
        guard let type = headerFields[.contentType]?.lowercased() else { return false }
        return type.hasPrefix("text/event-stream") || type.hasPrefix("multipart/x-mixed-replace")
    }

    /// `Content-Length`, where it is one valid number (repeated, it must be the same one). RFC 9110 §8.6
    var contentLength: Int64? {
        let values = headerFields[values: .contentLength]
            .flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }
            .map { octets in Substring(octets).filter { $0 != " " && $0 != "\t" } }
        guard let first = values.first, !first.isEmpty, values.allSatisfy({ $0 == first }),
            first.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return Int64(first)
    }
}
