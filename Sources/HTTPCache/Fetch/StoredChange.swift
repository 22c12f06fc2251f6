import HTTPCacheSemantics
import Logging

/// A response's change to the store, and how it is undone if bytes stand behind the response.
struct StoredChange: Sendable {
    /// The response as it is stored now.
    var response: StoredResponse
    /// The head that it had before a 304, which undoing restores, so that the response is validated
    /// before its next use. `nil`: the response was stored, and undoing removes it.
    var former: ResponseDraft?
}

extension CacheEngine {
    /// Undoes a change if its response turns out, now or later, not to end where it said.
    ///
    /// - Parameter boundary: the response's; `nil` if its transport sees none.
    func undo(_ change: StoredChange, ifCrossed boundary: MessageBoundary?) async {
        guard let boundary else { return }
        var change = change
        // So that no content is kept in memory for it.
        change.response.content = nil
        // A task of its own: the exchange that stored the response has ended by then.
        let isIntact = boundary.whenCrossed { [weak self, change] in Task { await self?.undo(change) } }
        if !isIntact { await undo(change) }
    }

    /// Undoes it, unless another response has replaced it since.
    private func undo(_ change: StoredChange) async {
        let isUndone = await recovering("undo") { [store, finder, policy] in
            let response = change.response
            // A 304 may have given it another head, and the body is wrong all the same.
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
    /// Decides about a response as it came.
    func decide(_ response: TransportResponse, at responseTime: Timestamp) -> FetchDecision {
        let decision = decide(response.head, at: responseTime)
        return response.boundary?.isCrossed == true ? decision.withoutStoring : decision
    }
}

extension FetchDecision {
    /// The decision about a response that must not be stored, because bytes stand behind it.
    ///
    /// A response that completes a stored part is decided on again before it is committed; see
    /// ``MessageBoundary/isCrossed``.
    package var withoutStoring: FetchDecision {
        switch self {
        case .freshen(let stored, let head): .confirm(stored, head: head)
        case .store, .combine: .passThrough(.unclearEnd)
        case .confirm, .askAgain, .complete, .passThrough, .refuse: self
        }
    }
}
