import Dispatch
import StoreFiles
import StoreMemory

extension StoreCore {
    /// Runs an operation in the writer's next transaction, and returns after the commit.
    func write<Result: Sendable>(
        to database: StoreDatabase? = nil,
        bytes: Int = 0,
        entries: Int = 1,
        isDurable: Bool = false,
        mayRunHere: Bool = false,
        pendingWrite: PendingWrite? = nil,
        _ operation: @escaping @Sendable (WriteContext) throws -> Result
    ) async throws -> Result {
        if isReadOnly { throw readOnlyError }
        let database = try database ?? self.database()
        guard let writer = database.writer else { throw readOnlyError }
        do {
            return try await writer.perform(
                bytes: bytes,
                entries: entries,
                isDurable: isDurable,
                mayRunHere: mayRunHere,
                pendingWrite: pendingWrite,
                operation
            )
        } catch {
            let error = StoreError(error, path: database.path)
            if error.code == .damaged { await setAsideOnAnotherThread(database, because: error) }
            throw error
        }
    }

    /// Sets a database aside for callers whose thread must not be blocked
    /// (`ResponseStore.suspendsWhileWriting`).
    private func setAsideOnAnotherThread(_ database: StoreDatabase, because error: StoreError) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                self.setAside(database, because: error)
                continuation.resume()
            }
        }
    }

    /// Returns when everything that was committed before the call is durable.
    func synchronize() async throws {
        // Read the number before the database, because a new database begins above it.
        let number = lastInvalidation.number
        let database = try database()
        guard let writer = database.writer else { throw readOnlyError }
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    with: Result {
                        do {
                            try writer.synchronize()
                            try self.lastInvalidation.sidecar?.write(number)
                        } catch {
                            throw StoreError(error, path: database.path)
                        }
                    }
                )
            }
        }
    }
}
