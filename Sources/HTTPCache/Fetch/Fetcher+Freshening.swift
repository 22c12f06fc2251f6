import HTTPCacheSemantics
import HTTPTypes

/// Freshening: a response without content updates the head of a stored response.
extension Fetcher {
    /// Stores the new head of a stored response, and returns the response with that head. If the
    /// store cannot keep the head, this exchange still uses it.
    ///
    /// If the new head has more tags than a store keeps, a purge would not reach the response. In
    /// that case, the stored response keeps its old head and tags, and must be validated before its
    /// next use.
    func freshen(
        _ stored: StoredResponse,
        _ head: StoredResponseHead,
        _ context: FetchContext,
        _ boundary: MessageBoundary?
    ) async -> StoredResponse {
        if boundary?.isCrossed != true {
            var draft = context.draft(head, replacing: stored)
            let isKept = draft.hasAcceptableTags
            if !isKept {
                var former = stored.head
                former.isInvalidated = true
                draft = context.draft(former, replacing: stored)
            }
            let updated = await engine.recovering("freshen") { [draft] in
                try await engine.store.freshen(stored, with: draft, fencingNumber: plan.known.fencingNumber)
            }
            if isKept, let updated, let response = updated {
                // The old head may come from another response that was followed by extra bytes.
                var head = stored.head
                head.isInvalidated = true
                let former = context.draft(head, replacing: stored)
                await engine.undo(StoredChange(response: response, former: former), ifCrossed: boundary)
                offer(response, draft, fencingPosition: context.fencingPosition)
                return response
            }
        }
        var response = stored
        response.head = head
        return response
    }

    /// Updates the stored response to GET with the fields of a HEAD response. RFC 9111 §4.3.5
    func update(with response: TransportResponse, _ context: FetchContext, _ responseTime: Timestamp) async {
        guard !prepared.sendsUnkeyedCookies, let stored = plan.fetch.selected ?? storedSuccess else { return }
        let boundary = response.boundary
        let update = prepared.policy.headUpdate(
            of: stored.head,
            bodyLength: stored.bodyLength,
            by: response.head,
            to: prepared.selecting,
            requestTime: context.requestTime,
            responseTime: responseTime,
            isForOthers: stored.key != key
        )
        switch update {
        case .freshen(let head):
            if let head = context.updating(stored, to: head) { _ = await freshen(stored, head, context, boundary) }
        case .invalidate:
            var head = stored.head
            head.isInvalidated = true
            _ = await freshen(stored, head, context, boundary)
        case .unrelated: break
        }
    }

    /// Invalidates the stored part that the request validated if the origin responds with 416. The
    /// origin compares the validators first, so the representation has changed, and it no longer
    /// has the range. RFC 9110 §13.2.2
    func invalidatePart(after response: TransportResponse, _ context: FetchContext) async {
        guard response.head.status == .rangeNotSatisfiable, let part = plan.fetch.validating,
            part.head.status == .partialContent,
            case .range = prepared.policy.selection(of: part.head, bodyLength: part.bodyLength, for: request.head)
        else { return }
        var head = part.head
        head.isInvalidated = true
        _ = await freshen(part, head, context, response.boundary)
    }
}
