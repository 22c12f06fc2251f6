import StoreMemory

/// An operation that waits for the writer.
///
/// `run` is called inside a transaction that is shared with other operations. If one of them fails,
/// the transaction is rolled back, and each operation runs again in its own transaction. So only
/// the failing operation's caller gets the error. The completion that `run` returns is called after
/// the transaction: with `nil` after the commit, otherwise with the failure.
struct WriteJob {
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// The bytes it carries, which use memory while it waits.
    var bytes: Int
    /// The number of entries it stores.
    var entries: Int
    /// Whether its commit is synced to disk before its caller continues.
    var isDurable: Bool
    /// The value that readers see until its transaction ends.
    var pendingWrite: PendingWrite?
    /// Runs the operation. It may be called again after a rollback.
    var run: @Sendable (WriteContext) throws -> Completion
    var fail: @Sendable (any Error) -> Void

    init<Result: Sendable>(
        bytes: Int,
        entries: Int = 1,
        isDurable: Bool,
        pendingWrite: PendingWrite? = nil,
        operation: @escaping @Sendable (WriteContext) throws -> Result,
        completion: @escaping @Sendable (Swift.Result<Result, any Error>) -> Void
    ) {
        self.bytes = bytes
        self.entries = entries
        self.isDurable = isDurable
        self.pendingWrite = pendingWrite
        run = { context in
            let result = try operation(context)
            return { failure in completion(failure.map { .failure($0) } ?? .success(result)) }
        }
        fail = { error in
            pendingWrite?.end()
            completion(.failure(error))
        }
    }
}
