import HTTPCacheSemantics
import Synchronization

@testable import HTTPCache

/// Callers that take places at an origin, one after the other: each runs until it has a place,
/// waits or is rejected before the next statement of the test.
final class OriginCallers: Sendable {
    enum Outcome: Sendable, Hashable {
        case waits, entered, rejected, cancelled
    }

    /// Runs the callers' tasks on the test's thread, when the test says so.
    private final class Executor: TaskExecutor {
        private let jobs = Mutex<[UnownedJob]>([])

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
        }

        func run() {
            while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    private struct Caller {
        var client: RequestClient
        var outcome = Outcome.waits
        var task: Task<Void, Never>?
    }

    private let registry: OriginRegistry
    private let origin: Origin
    private let executor = Executor()
    private let callers = Mutex<[Caller]>([])

    init(_ registry: OriginRegistry, _ origin: Origin) {
        self.registry = registry
        self.origin = origin
    }

    /// A caller takes a permit.
    ///
    /// - Returns: its number.
    @discardableResult
    func enter(_ client: RequestClient = .none) -> Int {
        let number = callers.withLock { callers in
            callers.append(Caller(client: client))
            return callers.count - 1
        }
        let task = Task(executorPreference: executor) { [self] in
            var outcome = Outcome.entered
            do {
                try await registry.enter(origin, client)
            } catch is OriginRegistry.Overload {
                outcome = .rejected
            } catch {
                outcome = .cancelled
            }
            callers.withLock { $0[number].outcome = outcome }
        }
        callers.withLock { $0[number].task = task }
        executor.run()
        return number
    }

    /// A caller gives its place back.
    func leave(_ number: Int) {
        registry.leave(origin, callers.withLock { $0[number].client })
        executor.run()
    }

    /// A caller gives up.
    func cancel(_ number: Int) {
        callers.withLock { $0[number].task }?.cancel()
        executor.run()
    }

    /// The outcome of a caller so far.
    subscript(number: Int) -> Outcome {
        executor.run()
        return callers.withLock { $0[number].outcome }
    }

    /// The numbers of the callers with an outcome.
    func all(_ outcome: Outcome) -> [Int] {
        executor.run()
        return callers.withLock { callers in callers.indices.filter { callers[$0].outcome == outcome } }
    }
}
