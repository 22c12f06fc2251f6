package import HTTPCacheSemantics
package import HTTPTypes

/// The way an in-flight fetch handles the head that the origin sent. The decision depends only on
/// the request, the stored responses and the head.
package enum FetchDecision: Sendable {
    /// The origin sent a 304 about the stored response, which now has this head.
    case freshen(StoredResponse, head: StoredResponseHead)
    /// The origin sent a 304 about the stored response, but its fields must not be stored. The
    /// caller whose request was sent gets the response with this head. The store keeps the old
    /// head.
    case confirm(StoredResponse, head: StoredResponseHead)
    /// The origin's response cannot be used, for example because it is a 304 about another
    /// response. Send the request again without validators.
    case askAgain
    /// Store the response with this draft, and share it.
    case store(ResponseDraft)
    /// The response is the rest of an incomplete stored response. Serve and store the two combined.
    /// RFC 9111 §3.4
    case complete(StoredResponse, CombinedResponse, ResponseDraft)
    /// The response is a part. Its own caller gets it unchanged. Store it combined with the stored
    /// bytes.
    case combine(StoredResponse, CombinedResponse, ResponseDraft)
    /// Only the caller whose request was sent may have the response. Do not store it.
    case passThrough(StorageRefusal)
    /// The response looks wrong compared with the stored response, which is served instead.
    case refuse(replacing: StoredResponse)
}

/// The facts that an in-flight fetch knows about its request.
package struct FetchContext: Sendable {
    let prepared: PreparedRequest
    let key: StoreKey
    var fetch: PlannedFetch
    var known: FetchPlan.Known
    let requestTime: Timestamp
    var options: EngineOptions
    /// The position up to which the fleet log was applied before the request; `nil` if the response
    /// is not offered to other nodes.
    var fencingPosition: LogPosition?
    /// The request's secrets, which no stored response may contain.
    private var secretValues: [String] = []
    /// Whether the request has secrets.
    private var hasSecrets = false

    init(
        _ prepared: PreparedRequest,
        key: StoreKey,
        _ plan: FetchPlan,
        requestTime: Timestamp,
        options: EngineOptions
    ) {
        self.prepared = prepared
        self.key = key
        fetch = plan.fetch
        known = plan.known
        self.requestTime = requestTime
        self.options = options
        let request = prepared.request
        if let secrets = request.secrets {
            hasSecrets = secrets.occur(in: request.head, ignoring: prepared.settings?.ignoredFields ?? [])
            secretValues = secrets.values(in: request.head)
        }
    }

    /// The request as its caller presented it, without the cache's validators.
    private var presented: CacheRequest { prepared.request }
    /// The presented head that selects variants, with its credentials replaced.
    private var selecting: HTTPRequest { prepared.selecting }
    /// Whether the response would be stored only for its principal.
    private var isPerPrincipal: Bool { prepared.isPerPrincipal }
    /// The rules for the request, and for the responses to it.
    private var rules: RequestRules? { prepared.rules }
    private var policy: CachePolicy { prepared.policy }

    package func decide(_ response: HTTPResponse, at responseTime: Timestamp) -> FetchDecision {
        // The rest of a stored part was requested, but the origin responded with neither that part
        // nor a complete response.
        if fetch.completing != nil, response.status != .partialContent, response.status.kind != .successful {
            return .askAgain
        }
        if response.status == .notModified, let validating = fetch.validating {
            return freshen(validating, by: response, at: responseTime)
        }
        if let completing = fetch.completing, response.status == .partialContent {
            return complete(completing, with: response, at: responseTime)
        }
        // Check this before storability, because a captive portal may forbid storing its page.
        if fetch.mayStandIn, presented.head.method == .get, let storedSuccess = known.success,
            let guarding = prepared.goodDataGuard(for: storedSuccess, options),
            guarding.refuses(response, length: response.contentLength, replacing: storedSuccess)
        {
            return .refuse(replacing: storedSuccess)
        }
        let partition: StoreKey
        switch storability(of: response) {
        case .forbidden(let refusal): return .passThrough(refusal)
        case .common: partition = isPerPrincipal ? key : key.inPartition(.common)
        case .principal: partition = key
        }
        if let refusal = refusal(ofRedirect: response) { return .passThrough(refusal) }
        // An error whose `Vary` differs would be selected instead of other variants' successes.
        if response.status.code >= 400,
            known.variants.contains(where: { $0.head.fields[.vary] != response.headerFields[.vary] })
        {
            return .passThrough(.storedSuccess)
        }
        if response.isEndless, let refusal = refusal(ofEndless: response) { return .passThrough(refusal) }
        if !known.isWhole, response.status.code >= 400 { return .passThrough(.store) }
        if let storedSuccess = known.success {
            // An error never replaces a stored success.
            if response.status.code >= 400 { return .passThrough(.storedSuccess) }
            let length = response.contentLength
            let guarding = prepared.goodDataGuard(for: storedSuccess, options)
            if guarding?.refuses(response, length: length, replacing: storedSuccess) == true {
                return fetch.mayStandIn ? .refuse(replacing: storedSuccess) : .passThrough(.guarded)
            }
            if response.status == .partialContent {
                return combine(storedSuccess, with: response, in: partition, at: responseTime)
            }
        }
        let head = head(of: response, in: partition, at: responseTime)
        guard keepsTags(head, of: response.headerFields) else { return .passThrough(.tags) }
        return .store(draft(head, in: partition, response.contentLength, at: responseTime))
    }

    /// Returns why a redirect of a refresh is not stored. A redirect whose `Vary` differs would be
    /// selected instead of other variants.
    private func refusal(ofRedirect response: HTTPResponse) -> StorageRefusal? {
        guard presented.client.isRefreshRedirected(by: response.status) else { return nil }
        guard known.isWhole else { return .store }
        let vary = response.headerFields[.vary]
        let isReplacing =
            known.success?.head.status.kind == .successful
            || known.variants.contains { $0.head.status.kind == .successful && $0.head.fields[.vary] != vary }
        return isReplacing ? .storedSuccess : nil
    }

    /// Returns why an event stream is not stored. Without a rule, it has no end that a later reader
    /// could wait for.
    private func refusal(ofEndless response: HTTPResponse) -> StorageRefusal? {
        guard let rule = rules?.settings.eventStreams, EventStreamRule.applies(to: response.headerFields),
            response.status == .ok, presented.head.method == .get || presented.isContentKeyed
        else { return .endless }
        return response.contentLength?.isWithin(rule.largest) == false ? .bodyLength : nil
    }

    /// Decides about a 304 for the cache's own condition. RFC 9111 §4.3.4
    private func freshen(
        _ validating: StoredResponse,
        by response: HTTPResponse,
        at responseTime: Timestamp
    ) -> FetchDecision {
        guard
            var head = policy.freshened(
                validating.head,
                by: response,
                requestTime: requestTime,
                responseTime: responseTime,
                request: selecting,
                // In a private cache, a response in the common partition also belongs to other
                // principals.
                isForOthers: policy.kind == .private && validating.key != key
            )
        else {
            // The 304 may be about the caller's own entity tag. In that case, the caller already
            // has the content.
            return policy.confirmsCallersCopy(response, to: presented.head)
                ? .passThrough(.statusAboutRequest) : .askAgain
        }
        // A 304 to a request without credentials shows that the response is also meant for such
        // requests, if the 304 has the directives that a 200 would have (RFC 9110 §15.4.5). A 304
        // from a mirror, which gets no credentials, may not have them.
        let basis = sharingBasis(in: validating.key)
        if basis == .directives || response.headerFields.contains(.cacheControl) {
            head.sharingBasis = basis
        } else if policy.isWithheld(validating.head) {
            return .askAgain
        }
        let updated = withCallersExpiry(head)
        guard keepsTags(updated, of: response.headerFields, validating.head.fields) else {
            return .confirm(validating, head: updated)
        }
        switch audience(of: updated) {
        case .common: return .freshen(validating, head: updated)
        // A principal's own copy is a separate stored response, and must be requested separately.
        case .principal: return validating.isCommon ? .askAgain : .freshen(validating, head: updated)
        case .forbidden: return .confirm(validating, head: updated)
        }
    }

    private var hasCredentials: Bool {
        if let hasIdentity = prepared.hasIdentityInJob { return hasIdentity }
        if isPerPrincipal || presented.principal != nil || hasSecrets { return true }
        guard prepared.hasCredentialFields, let ignored = rules?.settings.ignoredFields, !ignored.isEmpty else {
            return prepared.hasCredentialFields
        }
        return CredentialPartition.hasCredentials(presented.head.headerFields, ignoring: ignored)
    }

    /// Returns the basis on which a response to this request may be served to others. RFC 9111 §3.5
    private func sharingBasis(in partition: StoreKey) -> SharingBasis {
        guard partition.isCommon, hasCredentials || presented.head.headerFields.contains(.authorization) else {
            return .noCredentials
        }
        return .directives
    }

    /// Returns a stored head that records this request's basis for sharing, because the head now
    /// has fields from the response to this request.
    private func withBasis(_ head: StoredResponseHead, in partition: StoreKey) -> StoredResponseHead {
        var head = head
        if sharingBasis(in: partition) == .directives { head.sharingBasis = .directives }
        return head
    }

    /// Returns the audience for which a stored response may be kept, given its fields after an
    /// update by a 304 or a HEAD. RFC 9111 §3, §4.3.4
    ///
    /// `no-store` forbids storing any part of the response, and so does `private` in a shared
    /// cache.
    func audience(of head: StoredResponseHead) -> Storability {
        let status: HTTPResponse.Status = head.status == .partialContent ? .ok : head.status
        return storability(of: HTTPResponse(status: status, headerFields: head.fields), isStored: true)
    }

    /// Decides whether a HEAD's fields may be stored with the stored response to GET.
    ///
    /// - Returns: the head to store; `nil` if the fields may not be stored.
    package func updating(_ stored: StoredResponse, to head: StoredResponseHead) -> StoredResponseHead? {
        guard keepsTags(head, of: stored.head.fields) else { return nil }
        switch audience(of: head) {
        case .common: break
        case .principal: if stored.isCommon { return nil }
        case .forbidden: return nil
        }
        return withBasis(head, in: stored.key)
    }

    /// - Parameter isStored: whether the response is already stored, as a response to GET. If so,
    ///   it may be kept even without a lifetime.
    private func storability(of response: HTTPResponse, isStored: Bool = false) -> Storability {
        let storability = unsharedStorability(of: response, isStored: isStored)
        // Clients without credentials would get fields that a rule removes for them.
        guard storability == .common, prepared.keepsRemovedFields else { return storability }
        return policy.kind == .shared || key.isCommon ? .forbidden(.authorization) : .principal
    }

    private func unsharedStorability(of response: HTTPResponse, isStored: Bool) -> Storability {
        if prepared.sendsUnkeyedCookies { return .forbidden(.authorization) }
        // The response may repeat a secret, for example in a redirection to the request's own
        // target.
        let showsSecret = { (field: HTTPField) in secretValues.contains { field.value.contains($0) } }
        if !secretValues.isEmpty, response.headerFields.contains(where: showsSecret) {
            return .forbidden(.authorization)
        }
        var request = presented.head
        if isStored, request.method == .head { request.method = .get }
        let isExpiring = explicitExpiry(at: requestTime) != nil && hasCallersExpiry(response.status)
        if response.status == .partialContent {
            return policy.partialStorability(
                of: response,
                to: request,
                hasCredentials: hasCredentials,
                hasExplicitExpiry: isExpiring
            )
        }
        return policy.storability(
            of: response,
            to: request,
            hasCredentials: hasCredentials,
            methodIsKeyed: presented.isContentKeyed,
            hasExplicitExpiry: isExpiring,
            isStored: isStored,
            isFollowed: presented.followsRedirects && response.status.isRedirect
        )
    }

    private func head(
        of response: HTTPResponse,
        in partition: StoreKey,
        at responseTime: Timestamp
    ) -> StoredResponseHead {
        var head = StoredResponseHead(
            requestMethod: presented.head.method,
            selectingFields: policy.selectingFields(of: selecting, for: response),
            status: response.status,
            fields: policy.storedFields(of: response),
            requestTime: requestTime,
            responseTime: responseTime,
            explicitExpiry: hasCallersExpiry(response.status) ? explicitExpiry(at: responseTime) : nil
        )
        head.sharingBasis = sharingBasis(in: partition)
        return head
    }

    func draft(
        _ head: StoredResponseHead,
        in partition: StoreKey,
        _ length: StatedLength?,
        at responseTime: Timestamp
    ) -> ResponseDraft {
        let settings = rules?.settings(for: head.fields)
        return ResponseDraft(
            key: partition,
            head: head,
            freshUntil: policy.freshUntil(head),
            isUsableStale: policy.isUsableStale(head),
            expectedLength: length,
            storedAt: responseTime,
            tags: tags(of: head.fields, settings),
            isPinned: settings?.isPinned ?? false
        )
    }

    /// Returns the draft of a stored response with a new head.
    package func draft(_ head: StoredResponseHead, replacing stored: StoredResponse) -> ResponseDraft {
        draft(head, in: stored.key, StatedLength(clamping: stored.bodyLength), at: stored.storedAt)
    }

    // MARK: Partial content

    /// Decides about the response to a request for the rest of a stored part. If the two can be
    /// combined, the complete response is served. If not, the complete response is requested.
    private func complete(
        _ stored: StoredResponse,
        with response: HTTPResponse,
        at responseTime: Timestamp
    ) -> FetchDecision {
        var whole = response
        whole.status = .ok
        guard let combined = combined(stored, with: response, at: responseTime), combined.head.status == .ok else {
            return .askAgain
        }
        // A rest that must not be stored is not combined with stored bytes, nor is a principal's
        // rest with a common response.
        switch storability(of: whole) {
        case .common: break
        case .principal: if stored.isCommon { return .askAgain }
        case .forbidden: return .askAgain
        }
        let head = withBasis(withCallersExpiry(combined.head), in: stored.key)
        return .complete(stored, combined, draft(head, in: stored.key, combined.length, at: responseTime))
    }

    /// Decides about a part if another part, or the complete response, is stored.
    private func combine(
        _ stored: StoredResponse,
        with response: HTTPResponse,
        in partition: StoreKey,
        at responseTime: Timestamp
    ) -> FetchDecision {
        if stored.key == partition, let combined = combined(stored, with: response, at: responseTime) {
            let head = withBasis(withCallersExpiry(combined.head), in: partition)
            return .combine(stored, combined, draft(head, in: partition, combined.length, at: responseTime))
        }
        // A part never replaces a complete response. If two parts cannot be combined, the newer
        // part is kept.
        guard stored.head.status == .partialContent else { return .passThrough(.partialContent) }
        let head = head(of: response, in: partition, at: responseTime)
        return .store(draft(head, in: partition, response.partLength, at: responseTime))
    }

    private func combined(
        _ stored: StoredResponse,
        with response: HTTPResponse,
        at responseTime: Timestamp
    ) -> CombinedResponse? {
        let combined = policy.combined(
            stored.head,
            bodyLength: stored.bodyLength,
            with: response,
            requestTime: requestTime,
            responseTime: responseTime,
            request: selecting
        )
        guard let combined, keepsTags(combined.head, of: response.headerFields, stored.head.fields) else { return nil }
        return combined
    }

    // MARK: Tags

    /// Returns whether a head still has the tag fields of its response. A response may forbid
    /// storing a field (`private="surrogate-key"`). If the response were stored without its tags, a
    /// purge by tag would not reach it.
    private func keepsTags(_ head: StoredResponseHead, of sources: HTTPFields...) -> Bool {
        let named = rules?.settings(for: head.fields).tagFields ?? []
        return named.allSatisfy { field in
            head.fields.contains(field.name) || !sources.contains { $0.contains(field.name) }
        }
    }

    /// Returns the tags of a stored response:
    /// - its cache groups (RFC 9875 §2)
    /// - the rules' tags
    /// - tags from the fields that the rules name
    /// - the request's tags
    private func tags(of fields: HTTPFields, _ settings: ExchangeSettings?) -> [String] {
        var tags: [String] = []
        if options.usesCacheGroups { tags = key.components.target.tags(ofGroups: policy.groups(of: fields)) }
        for tag in settings?.tags ?? [] where !tags.containsBytes(of: tag) { tags.append(tag) }
        for field in settings?.tagFields ?? [] {
            field.forEachTag(in: fields) { tag in
                if !tags.containsBytes(of: tag) { tags.append(tag) }
                // One tag beyond the limit keeps the response out of the store. Stop there, so that
                // an origin cannot cause thousands of comparisons.
                return tags.count <= ResponseDraft.maximumTagCount
            }
        }
        for tag in presented.tags where !tags.containsBytes(of: tag) { tags.append(tag) }
        return tags
    }

    /// Returns whether the caller's own expiry applies to a status: it applies to a success, and to
    /// a redirect that the caller follows.
    private func hasCallersExpiry(_ status: HTTPResponse.Status) -> Bool {
        status.kind == .successful || (presented.followsRedirects && status.isRedirect)
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

extension StoredResponse {
    /// Whether the response may be served to every principal.
    fileprivate var isCommon: Bool { key == key.inPartition(.common) }
}

extension TargetURI {
    /// Returns the store's tags for cache groups. A group belongs to one origin, so the origin is
    /// part of the tag. RFC 9875 §2.1
    func tags(ofGroups groups: [String]) -> [String] {
        groups.map { "group \(scheme)://\(host):\(port) \($0)" }
    }
}

extension CachePolicy {
    /// Returns whether a response may be served, however stale, while the origin is unreachable:
    /// nothing forbids it, and the response is not an error. An old error is never served for an
    /// unreachable origin.
    func isUsableStale(_ head: StoredResponseHead) -> Bool {
        staleUse(of: head) == .allowed && head.status.code < 400
    }
}

extension HTTPResponse {
    /// Whether the response's media type has content that continues while a client listens.
    fileprivate var isEndless: Bool {
        guard let type = headerFields[.contentType]?.lowercased() else { return false }
        return type.hasPrefix("text/event-stream") || type.hasPrefix("multipart/x-mixed-replace")
    }

    /// The length in bytes of the part, as stated by a 206.
    var partLength: StatedLength? { ContentRange(headerFields)?.range.length }

    /// The value of `Content-Length`, if it is a single valid number (repeated values must be
    /// equal). RFC 9110 §8.6
    var contentLength: StatedLength? { ContentLength(headerFields).bytes }
}
