/// Waits until a condition is met.
///
/// A suite's time limit only cancels a test, so a loop that does not notice that never ends.
///
/// - Throws: `CancellationError` if the task is canceled first.
package func waitUntil(_ isMet: () async throws -> Bool) async throws {
    while try await !isMet() {
        try Task.checkCancellation()
        await Task.yield()
    }
}
