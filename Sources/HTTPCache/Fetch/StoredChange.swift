import HTTPCacheSemantics
import Logging

/// A response's change to the store, and the data to undo it if extra bytes follow the response.
struct StoredChange: Sendable {
    /// The response as it is stored now.
    var response: StoredResponse
    /// The head before a 304. Undoing the change restores this head, and the response is validated
    /// before its next use. `nil` if the response was newly stored; undoing the change removes it.
    var former: ResponseDraft?
}

extension CacheEngine {
    /// Undoes a change if it turns out, now or later, that extra bytes follow its response.
    ///
    /// - Parameter boundary: the response's message boundary; `nil` if its transport never sees
    ///   bytes after a response.
    func undo(_ change: StoredChange, ifCrossed boundary: MessageBoundary?) async {
        guard let boundary else { return }
        var change = change
        // Do not keep content in memory for this purpose.
        change.response.content = nil
        // Use a new task, because the exchange that stored the response may have ended by then.
        let isIntact = boundary.whenCrossed { [weak self, change] in Task { await self?.undo(change) } }
        if !isIntact { await undo(change) }
    }

    /// Undoes a change, unless another response has replaced the changed response since.
    private func undo(_ change: StoredChange) async {
        let isUndone = await recovering("undo") { [store, finder, policy] in
            let response = change.response
            // A 304 may have changed the head since, but the body is still wrong.
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
    /// The decision, changed for a response that must not be stored because extra bytes follow it.
    ///
    /// A response that completes a stored part does not change here, because it is checked again
    /// before it is committed: see ``MessageBoundary/isCrossed``.
    package var withoutStoring: FetchDecision {
        switch self {
        case .freshen(let stored, let head): .confirm(stored, head: head)
        case .store, .combine: .passThrough(.unclearEnd)
        case .confirm, .askAgain, .complete, .passThrough, .refuse: self
        }
    }
}
