/// One operation that waits for the writer.
///
/// `run` happens inside a transaction that others share; when one of them fails, it is rolled back
/// and each is run again in a transaction of its own, so that a failure is only its caller's. What
/// it answers with is called when the transaction has ended: with `nil` after the commit, else with
/// the failure.
struct WriteJob {
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// Bytes it carries: what waiting costs in memory.
    var bytes: Int
    /// Entries it stores, where they are more than one.
    var entries: Int
    /// Whether its commit is synced to the disk before its caller goes on.
    var isDurable: Bool
    /// What readers see of it from now on until its transaction has ended.
    var shown: PendingWrite?
    /// May be called again after it was rolled back.
    var run: @Sendable (WriteContext) throws -> Completion
    var fail: @Sendable (any Error) -> Void

    init<Result: Sendable>(
        bytes: Int,
        entries: Int = 1,
        isDurable: Bool,
        shown: PendingWrite? = nil,
        operation: @escaping @Sendable (WriteContext) throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        self.bytes = bytes
        self.entries = entries
        self.isDurable = isDurable
        self.shown = shown
        run = { context in
            let result = try operation(context)
            return { failure in completion(failure.map { .failure($0) } ?? .success(result)) }
        }
        fail = { error in
            shown?.end()
            completion(.failure(error))
        }
    }
}
