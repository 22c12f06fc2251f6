import HTTPCache
import HTTPCacheSemantics

/// A network response that later calls may reuse. The store does not serve it, because it is not
/// stored or needs validation before each use.
struct RecentResponse: Sendable {
    private let response: CacheResponse
    private let receivedAt: Timestamp
    /// The first instant at which it is stale.
    private let freshUntil: Timestamp
    /// Bytes of its content.
    let bytes: Int

    /// Returns `nil` for responses that later calls must not reuse: failures, incomplete content,
    /// and responses that the store serves.
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

    /// How long ago the response came. The age is absolute, so that a clock that is set back does
    /// not make the response recent forever.
    func age(at now: Timestamp) -> Duration { .milliseconds(now.milliseconds(since: receivedAt).magnitude) }

    /// The response for a later call.
    func makeResponse(at now: Timestamp) -> CacheResponse {
        var reused = response
        reused.source = .store
        reused.isStale = now >= freshUntil
        reused.isValidated = false
        reused.age += age(at: now).clampedMilliseconds
        reused.outcome = CacheOutcome(isHit: true, detail: .recent)
        return reused
    }
}
