import HTTPCacheSemantics
import Logging

/// A response's change to the store, and how to undo it if bytes follow the response.
struct StoredChange: Sendable {
    /// The response as it is stored now.
    var response: StoredResponse
    /// The head before a 304. Undoing restores it, so that the response is validated before its
    /// next use. `nil`: the response was newly stored, and undoing removes it.
    var former: ResponseDraft?
}

extension CacheEngine {
    /// Undoes a change if its response turns out, now or later, not to end where it stated.
    ///
    /// - Parameter boundary: the response's message boundary; `nil` if its transport does not see
    ///   any.
    func undo(_ change: StoredChange, ifCrossed boundary: MessageBoundary?) async {
        guard let boundary else { return }
        var change = change
        // Keeps no content in memory for it.
        change.response.content = nil
        // In its own task, because the exchange that stored the response will have ended.
        let isIntact = boundary.whenCrossed { [weak self, change] in Task { await self?.undo(change) } }
        if !isIntact { await undo(change) }
    }

    /// Undoes it, unless another response has replaced it since.
    private func undo(_ change: StoredChange) async {
        let isUndone = await recovering("undo") { [store, finder, policy] in
            let response = change.response
            // A 304 may have given it another head, but the body is still wrong.
            guard let former = change.former else {
                let names = policy.selectingNames(of: response.head.fields) ?? []
                finder?.responses.withdraw(response, selectedBy: names)
                return try await store.withdraw(response)
            }
            let found = try await store.lookup(response.key)
            guard let now = found.first(where: { $0.id == response.id }) else { return false }
            _ = try await store.freshen(now, with: former, fencingNumber: store.invalidationSequence)
            return true
        }
        if isUndone == true { logger.notice("Removed a stored response because bytes followed its end") }
    }
}

extension FetchContext {
    /// Decides about a response as received.
    func decide(_ response: TransportResponse, at responseTime: Timestamp) -> FetchDecision {
        let decision = decide(response.head, at: responseTime)
        return response.boundary?.isCrossed == true ? decision.withoutStoring : decision
    }
}

extension FetchDecision {
    /// The decision about a response that must not be stored because bytes follow it.
    ///
    /// A response that completes a stored part is decided about again before it is committed; see
    /// ``MessageBoundary/isCrossed``.
    package var withoutStoring: FetchDecision {
        switch self {
        case .freshen(let stored, let head): .confirm(stored, head: head)
        case .store, .combine: .passThrough(.unclearEnd)
        case .confirm, .askAgain, .complete, .passThrough, .refuse: self
        }
    }
}
