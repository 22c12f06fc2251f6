import HTTPCache
import HTTPCacheSemantics

/// A network response that later calls may reuse. The store cannot serve it to them, because it is
/// not stored or must be validated before each use.
struct RecentResponse: Sendable {
    private let response: CacheResponse
    private let receivedAt: Timestamp
    /// The first time at which the response is stale.
    private let freshUntil: Timestamp
    /// The number of bytes of content.
    let bytes: Int

    /// Creates a reusable response. Returns `nil` for responses that later calls must not reuse:
    /// statuses other than 2xx, incomplete content, responses that another fetch received, and
    /// responses that the store serves.
    init?(_ response: CacheResponse, at now: Timestamp) {
        guard response.source == .network, response.head.status.kind == .successful, !response.outcome.isCollapsed,
            let content = response.body.whole
        else { return nil }
        let head = StoredResponseHead(
            status: response.head.status,
            fields: response.head.headerFields,
            requestTime: now,
            responseTime: now
        )
        let policy = CachePolicy(kind: .private)
        let isStored = response.stored != nil || response.outcome.isStored
        guard !isStored || policy.staleUse(of: head) != .allowed else { return nil }
        self.response = response
        receivedAt = now
        freshUntil = isStored ? policy.freshUntil(head) : now
        bytes = content.readableBytes
    }

    /// Returns the time since the response was received. The absolute value is used, so that a
    /// clock that is set back does not make the response recent forever.
    func age(at now: Timestamp) -> Duration { .milliseconds(now.milliseconds(since: receivedAt).magnitude) }

    /// Returns the response for a later call.
    func makeResponse(at now: Timestamp) -> CacheResponse {
        var reused = response
        reused.source = .store
        reused.isStale = now >= freshUntil
        reused.isValidated = false
        reused.ageMilliseconds += age(at: now).clampedMilliseconds
        reused.outcome = CacheOutcome(isHit: true, detail: .recent)
        return reused
    }
}
