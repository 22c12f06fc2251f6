/// One operation that waits for the writer.
///
/// `run` happens inside a transaction, in a savepoint of its own, so that its failure is only its caller's. What it answers with is
/// called when the transaction has ended: with `nil` after the commit, else with the failure.
struct WriteJob {
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// Octets it carries: what waiting costs in memory.
    var bytes: Int
    /// Whether its commit is synced to the disk before its caller goes on.
    var isDurable: Bool
    var run: @Sendable (WriteContext) throws -> Completion
    var fail: @Sendable (any Error) -> Void

    init<Result: Sendable>(
        bytes: Int,
        isDurable: Bool,
        continuation: CheckedContinuation<Result, any Error>,
        operation: @escaping @Sendable (WriteContext) throws -> Result
    ) {
        self.bytes = bytes
        self.isDurable = isDurable
        run = { context in
            let result = try operation(context)
            return { failure in
                if let failure {
                    continuation.resume(throwing: failure)
                } else {
                    continuation.resume(returning: result)
                }
            }
        }
        fail = { continuation.resume(throwing: $0) }
    }
}
