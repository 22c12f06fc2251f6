import HTTPCacheSemantics
import HTTPTypes

/// Sharing with other nodes: their responses are looked up before a request is sent to an origin,
/// and this node's responses are offered after the origin has responded.
extension Fetcher {
    /// Looks up a useful response of another node, and stores it here.
    ///
    /// - Parameters:
    ///   - commonKey: the key in the partition that all principals share.
    ///   - patience: the maximum time to wait for another node's request; `nil` for the tier's
    ///     limit.
    ///   - find: receives the lease if nothing was found.
    /// - Returns: whether a response was stored.
    func accept(_ commonKey: StoreKey, patience: Duration?, _ find: PeerLookups.Find) async -> Bool {
        guard let responses = engine.finder?.responses else { return false }
        let now = engine.clock.now()
        let context = FetchContext(prepared, key: key, plan, requestTime: now, options: engine.options)
        let query = PeerQuery(
            key: commonKey,
            patience: patience,
            selecting: { [prepared] in prepared.policy.selectingFields(of: prepared.selecting, named: $0) },
            accepts: { context.mayAccept($0, at: now) }
        )
        switch await responses.find(query) {
        case .nothing(let lease):
            if let lease { find.put(HeldLease(lease, of: responses)) }
            return false
        case .found(let found):
            return await store(found, as: context.accepted(found.draft))
        }
    }

    /// Stores a response of another node, unless a purge or a newer response arrived in the
    /// meantime.
    private func store(_ found: PeerResponse, as draft: ResponseDraft) async -> Bool {
        // This gives the response a position among this node's fetches, because a fetch that begins
        // later has a newer response.
        let admission = engine.inFlightFetches.admit(draft.key, as: .alone, fencingNumber: plan.known.fencingNumber)
        guard case .lead(let place) = admission else { return false }
        defer { engine.inFlightFetches.end(place, draft.key) }
        guard let writer = await writer(for: draft).writer else { return false }
        do {
            for try await chunk in found.body { try await writer.append(chunk) }
        } catch {
            // A part is missing, or belongs to another response. The exchange fetches the response
            // from the origin instead.
            await writer.abandon()
            return false
        }
        guard await engine.inFlightFetches.mayStore(place, draft.key, draft.head) else {
            await writer.abandon()
            return false
        }
        return (await engine.recovering("finish") { try await writer.finish() } ?? nil) != nil
    }

    /// Offers a stored response to other nodes.
    ///
    /// - Parameter fencingPosition: the position up to which this node had applied the fleet log
    ///   before it sent the request; `nil` if it did not follow the log.
    func offer(_ response: StoredResponse, _ draft: ResponseDraft, fencingPosition: LogPosition?) {
        guard let fencingPosition, let responses = engine.finder?.responses else { return }
        guard isForOthers(draft), let names = prepared.policy.selectingNames(of: draft.head.fields) else {
            return keepFromOthers()
        }
        responses.offer(
            FleetOffer(
                response: response,
                draft: draft,
                selectingNames: names,
                fencingPosition: fencingPosition,
                lease: lease?.take()
            )
        )
    }

    /// Tells other nodes not to wait for responses to this key.
    func keepFromOthers() {
        guard let responses = engine.finder?.responses, let shared = prepared.fleetKey else { return }
        responses.release(lease?.take(), of: shared, isForOthers: false)
    }

    /// Returns whether a response may be offered to other nodes. These responses are excluded:
    /// - errors, parts, and invalidated responses
    /// - responses with a cookie, an explicit expiry, or credentials in their selecting header
    ///   fields
    /// - responses of one principal, and responses that a shared cache may not store
    private func isForOthers(_ draft: ResponseDraft) -> Bool {
        let head = draft.head
        return draft.key.isCommon && prepared.fleetKey != nil && head.status.code < 400
            && head.status != .partialContent && !head.fields.contains(.setCookie) && head.explicitExpiry == nil
            && !head.isInvalidated && !CredentialPartition.hasCredentials(head.selectingFields)
            && isForSharedCaches(head)
    }

    /// Returns whether a shared cache may store a response. Needed because this node's cache may be
    /// private, and may store responses that a shared cache must not.
    private func isForSharedCaches(_ head: StoredResponseHead) -> Bool {
        if prepared.policy.kind == .shared { return true }
        let storability = CachePolicy(kind: .shared).storability(
            of: HTTPResponse(status: head.status, headerFields: head.fields),
            to: prepared.request.head,
            hasCredentials: prepared.hasCredentialFields || prepared.request.principal != nil
        )
        return storability == .common
    }
}

extension FetchContext {
    /// Returns whether another node's response is useful here: this node's rules store it for all
    /// principals, the request selects it, and it is newer and better than the stored response.
    func mayAccept(_ draft: ResponseDraft, at now: Timestamp) -> Bool {
        let head = draft.head
        guard head.status.code < 400, audience(of: head) == .common, !prepared.policy.isWithheld(head),
            prepared.policy.matchesVariant(head, prepared.selecting), draft.hasAcceptableTags,
            accepted(draft).hasAcceptableTags
        else { return false }
        guard let stored = known.success else { return known.isWhole }
        // A stale response is no better than the stale response that is already stored here.
        return head.responseTime > stored.head.responseTime
            && prepared.policy.freshness(of: head, at: max(now, head.responseTime)).isFresh
            && prepared.goodDataGuard(for: stored, options)?.refuses(
                HTTPResponse(status: head.status, headerFields: head.fields),
                length: draft.expectedLength,
                replacing: stored
            ) != true
    }

    /// Returns the draft of another node's response under this node's rules. It also keeps its own
    /// tags.
    func accepted(_ draft: ResponseDraft) -> ResponseDraft {
        var accepted = self.draft(draft.head, in: draft.key, draft.expectedLength, at: draft.storedAt)
        for tag in draft.tags where !accepted.tags.containsBytes(of: tag) { accepted.tags.append(tag) }
        return accepted
    }
}

extension PreparedRequest {
    /// The key for sharing this request's responses with other nodes; `nil` if a rule forbids it,
    /// if the request belongs to a job or a principal, or has a secret, content or a content check,
    /// if it is a probe, if it is sent with cookies that are not in the key, or if its caller
    /// decides about storing.
    var fleetKey: StoreKey? {
        guard let key, settings?.isForFleet != false, !isSeenByJob, request.body == nil, !request.isProbe,
            request.contentCheck == nil, !sendsUnkeyedCookies,
            case .byResponse = request.storage,
            request.secrets?.occur(in: request.head, ignoring: settings?.ignoredFields ?? []) != true
        else { return nil }
        return key.isCommon ? key : commonLookupKey
    }
}

extension CacheOutcome.ForwardReason {
    /// Whether another node's response may be as good as the origin's.
    var mayBeMetByPeer: Bool {
        switch self {
        case .uriMiss, .varyMiss, .miss, .stale, .partial: true
        case .bypass, .method, .request: false
        }
    }
}

extension StorageRefusal {
    /// Whether the next response to the same request may still be stored.
    var isOfThisMoment: Bool {
        switch self {
        case .store, .storedSuccess, .guarded, .unclearEnd, .bypass, .cutShort, .lastEvent, .fewUses: true
        default: false
        }
    }
}
