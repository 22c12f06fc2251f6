import HTTPCache
import HTTPCacheSemantics

/// A response of the network that later calls may have, because the store does not answer with it:
/// it is not stored, or has to be validated before each use.
struct RecentResponse: Sendable {
    private let response: CacheResponse
    private let receivedAt: Timestamp
    /// The first instant at which it is stale.
    private let freshUntil: Timestamp
    /// Bytes of its content.
    let bytes: Int

    /// `nil` for all that later calls must not have: failures, parts of a content that broke off,
    /// what the store answers with.
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

    /// How long ago it came; also where the clock was set back, which makes nothing recent for
    /// ever.
    func age(at now: Timestamp) -> Duration { .milliseconds(now.milliseconds(since: receivedAt).magnitude) }

    /// The response as a call has it that came later.
    func answer(at now: Timestamp) -> CacheResponse {
        var answer = response
        answer.source = .store
        answer.isStale = now >= freshUntil
        answer.isValidated = false
        answer.age += age(at: now).clampedMilliseconds
        answer.outcome = CacheOutcome(isHit: true, detail: .recent)
        return answer
    }
}
