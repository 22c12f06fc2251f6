import CacheEviction
import Dispatch
import HTTPCacheSemantics
import Logging
import StoreMemory
import Synchronization

/// Reads the entries that were used before the store was opened back into memory, in the
/// background, so that the first minute after a restart is not a minute from disk.
///
/// The order is that of the column `recency`, the most recently used entry first. Entries that were
/// never used since they were stored are skipped, so a scan before the restart fills no memory.
/// Pinned entries are skipped too, because the order does not contain them.
///
/// It has its own connection, so no request waits for it, and it keeps no snapshot between two
/// reads. It records no uses. Like a lookup, it inserts nothing that changed since it was read.
final class MemoryRefill: Sendable {
    private struct State {
        /// `nil` after the refill has ended.
        var readers: ReaderPool?
        /// The position of the last row that was examined.
        var place = (recency: Int64.max, id: Int64.max)
        var rows: Int64 = 0
        var bytes: Int64 = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// The keys that a step reads.
    private struct Step {
        var responses: [StoreKey] = []
        var objects: [[UInt8]] = []
        var rows: Int64 = 0
        /// The bytes that they take in memory, estimated.
        var bytes: Int64 = 0
        /// Whether the next entry does not fit.
        var isLast = false
    }

    /// The estimated bytes of an entry in memory, without its body and head.
    private static let overhead: Int64 = 1024

    /// Returns the bytes of the buffer that a body is read into: `ByteBuffer` rounds up to a power
    /// of two.
    private static func capacity(of body: Int64) -> Int64 {
        body > 1 ? 1 << (Int64.bitWidth - (body - 1).leadingZeroBitCount) : body
    }

    private let core: @Sendable () -> StoreCore?
    private let database: StoreDatabase
    private let pace: RefillPace
    private let logger: Logger
    private let queue = DispatchQueue(label: "holdfast.store.refill", qos: .utility)
    private let state: Mutex<State>

    init(_ core: StoreCore, _ database: StoreDatabase, pace: RefillPace) throws {
        self.core = { [weak core] in core }
        self.database = database
        self.pace = pace
        logger = core.logger
        let path = database.path
        let readers = try ReaderPool(count: 1) { _ in try DatabaseOpening.reader(path: path, cache: 256 << 10) }
        state = Mutex(State(readers: readers))
    }

    /// Begins to read. The refill ends by itself, or with the store.
    func begin() {
        queue.async { self.run() }
    }

    private func run() {
        guard let pause = takeStep() else { return }
        let milliseconds = (pause + .microseconds(999)).clampedMilliseconds
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: milliseconds))) { self.run() }
    }

    /// Reads the next entries.
    ///
    /// - Returns: the pause before the next step; `nil` if the refill has ended.
    func takeStep() -> Duration? {
        state.withLock { state in
            guard let readers = state.readers else { return nil }
            guard let core = core(), core.live.isLive(database), let memory = database.state.memory,
                !pace.isOver(
                    rows: state.rows,
                    bytes: state.bytes,
                    resident: memory.bytes,
                    budget: database.state.limits.memory
                )
            else {
                Self.end(&state)
                return nil
            }
            let start = ContinuousClock.now
            do {
                let room = pace.room(resident: memory.bytes, budget: database.state.limits.memory)
                let step = try nextEntries(after: &state.place, room: room, bodyLimit: memory.bodyLimit, readers)
                let store = SQLiteResponseStore(core: core)
                try store.load(step.responses, objects: step.objects, in: database, through: readers)
                if step.rows == 0 || step.isLast {
                    Self.end(&state)
                    return nil
                }
                state.rows += step.rows
                state.bytes += step.bytes
                return pace.pause(after: ContinuousClock.now - start, bytes: step.bytes)
            } catch {
                // The next lookup of the entry reports it.
                logger.debug(
                    "cannot refill the memory",
                    metadata: ["store.path": "\(database.path)", "error": "\(error)"]
                )
                Self.end(&state)
                return nil
            }
        }
    }

    /// - Parameters:
    ///   - room: the most bytes that the entries may take in memory.
    ///   - bodyLimit: the length of the largest body that the memory keeps.
    private func nextEntries(
        after place: inout (recency: Int64, id: Int64),
        room: Int64,
        bodyLimit: Int,
        _ readers: ReaderPool
    ) throws -> Step {
        try readers.read { connection in
            var step = Step()
            // The recency of a damaged entry is negative.
            let statement = try connection.prepare(
                """
                SELECT id, recency, kind, body_length, size, key FROM entry INDEXED BY entry_by_recency
                WHERE is_pinned = 0 AND recency >= 0 AND (recency, id) < (?1, ?2) ORDER BY recency DESC, id DESC LIMIT ?3
                """
            )
            defer { statement.reset() }
            statement.bind(1, place.recency)
            statement.bind(2, place.id)
            statement.bind(3, pace.rows)
            while step.bytes < pace.stepBytes, try statement.step() {
                let recency = statement.integer(1)
                let isUsed = UseStamp(stored: recency).quarters > 0
                let body = statement.integer(3)
                let head = statement.integer(4) - body
                let bytes = head + (body > bodyLimit ? 0 : Self.capacity(of: body)) + Self.overhead
                if isUsed, step.bytes + bytes > room {
                    step.isLast = true
                    break
                }
                place = (recency, statement.integer(0))
                step.rows += 1
                guard isUsed else { continue }
                let key = statement.bytes(5)
                if statement.integer(2) == EntryKind.object.rawValue {
                    step.objects.append(key)
                } else if let key = StoreKey(bytes: key) {
                    step.responses.append(key)
                }
                step.bytes += bytes
            }
            return step
        }
    }

    private static func end(_ state: inout State) {
        state.readers?.close()
        state.readers = nil
        for continuation in state.waiting { continuation.resume() }
        state.waiting = []
    }

    /// Ends the refill, after a step that has begun. The caller's thread does not wait.
    func end() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.state.withLock { Self.end(&$0) }
                continuation.resume()
            }
        }
    }

    /// Waits until the refill has ended, for tests.
    func wait() async {
        await withCheckedContinuation { continuation in
            queue.async {
                self.state.withLock { state in
                    if state.readers == nil { continuation.resume() } else { state.waiting.append(continuation) }
                }
            }
        }
    }
}
