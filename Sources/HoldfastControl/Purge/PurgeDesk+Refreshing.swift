import HTTPCache
import HTTPCacheOperations

extension PurgeCoordinator {
    /// Performs a purge. If the purge requests a refresh, also starts to fetch the purged responses
    /// again.
    ///
    /// - Throws: ``ControlProblem``; the store's errors.
    func performRefreshing(_ purge: PurgeRequest, by client: String) async throws -> PurgeResult {
        guard let pace = purge.refresh, let refreshes else { return try await operations.perform(purge) }
        var plain = purge
        plain.refresh = nil
        if !purge.dryRun {
            do { try refreshes.reserveRefresh() } catch { throw ControlProblem(error) }
        }
        var result: PurgeResult
        do {
            result = try await operations.perform(plain)
        } catch {
            if !purge.dryRun { refreshes.releaseRefresh() }
            throw error
        }
        result.refreshing = min(result.matched.responses, pace.atMost)
        if let sequence = result.sequence {
            refreshes.beginRefresh(
                try plain.scopes(),
                RefreshReport(sequence: sequence, pace: pace, client: client)
            )
        }
        return result
    }
}
