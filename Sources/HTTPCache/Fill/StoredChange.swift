import HTTPCacheSemantics
import Logging

/// A response's change to the store, and how it is undone if bytes stand behind the response.
enum StoredChange: Sendable {
    /// A response was stored: undoing removes it.
    case stored(StoredResponse)
    /// A stored response has a new head: undoing restores its former head, and it is validated
    /// before its next use.
    case freshened(StoredResponse, former: ResponseDraft)
}

extension CacheEngine {
    /// Undoes a change if its response turns out, now or later, not to end where it said.
    ///
    /// - Parameter boundary: the response's; `nil` if its transport sees none.
    func undo(_ change: StoredChange, ifCrossed boundary: MessageBoundary?) async {
        guard let boundary else { return }
        let change = change.withoutContent
        // A task of its own: the exchange that stored the response has ended by then.
        let isIntact = boundary.whenCrossed { [weak self] in Task { await self?.undo(change) } }
        if !isIntact { await undo(change) }
    }

    /// Undoes it, unless another response has replaced it since.
    private func undo(_ change: StoredChange) async {
        let isUndone = await recovering("undo") { [store, clock] in
            switch change {
            case .stored(let response):
                // By its body: a 304 may have given it another head, and the body is wrong all the
                // same.
                guard try await store.lookup(response.key).contains(where: { $0.bodyID == response.bodyID })
                else { return false }
                try await store.invalidate(.key(response.key), .remove, at: clock.now())
            case .freshened(let response, let former):
                guard let found = try await store.lookup(response.key).first(where: { $0.id == response.id })
                else { return false }
                _ = try await store.freshen(found, with: former, fence: store.invalidationSequence)
            }
            return true
        }
        if isUndone == true { logger.notice("Removed what was stored of a response with bytes behind it") }
    }
}

extension StoredChange {
    /// The same without its content in memory, so that no content is kept there for it.
    fileprivate var withoutContent: StoredChange {
        switch self {
        case .stored(var response):
            response.content = nil
            return .stored(response)
        case .freshened(var response, let former):
            response.content = nil
            return .freshened(response, former: former)
        }
    }
}

extension FillContext {
    /// Decides about a response as it came.
    func decide(_ response: TransportResponse, at responseTime: Timestamp) -> FillDecision {
        let decision = decide(response.head, at: responseTime)
        return response.boundary?.isCrossed == true ? decision.withoutStoring : decision
    }
}

extension FillDecision {
    /// The decision about a response that must not be stored, because bytes stand behind it.
    ///
    /// A response that completes a stored part is decided on again before it is committed; see
    /// ``MessageBoundary/isCrossed``.
    package var withoutStoring: FillDecision {
        switch self {
        case .freshen(let stored, let head): .confirm(stored, head: head)
        case .store, .combine: .passThrough(.unclearEnd)
        case .confirm, .askAgain, .complete, .passThrough, .refuse: self
        }
    }
}
