import Logging
import Synchronization

extension CacheManager {
    /// Begins to read what was used before the store was opened into memory, in the background.
    func refillMemory(_ pace: RefillPace = RefillPace()) {
        guard let database = try? core.database(), database.writer != nil, database.state.memory != nil else { return }
        do {
            let refill = try MemoryRefill(core, database, pace: pace)
            self.refill.withLock { $0 = refill }
            refill.begin()
        } catch {
            core.logger.debug(
                "cannot refill the memory",
                metadata: ["store.path": "\(database.path)", "error": "\(error)"]
            )
        }
    }

    /// The refill of the memory, for tests; `nil` if none began.
    var memoryRefill: MemoryRefill? { refill.withLock { $0 } }
}
