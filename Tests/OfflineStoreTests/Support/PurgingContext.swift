import HTTPCache
import HTTPCacheSemantics

@testable import OfflineStore

extension WriteContext {
    /// Applies a purge.
    func invalidate(_ scope: InvalidationScope, keepingForOffline: Bool, at now: Timestamp) throws -> Invalidation {
        try invalidate(scope, keepingForOffline ? .mark(.unspecified) : .remove, at: now)
    }
}
