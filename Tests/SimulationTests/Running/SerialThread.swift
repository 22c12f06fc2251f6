import Foundation
import HoldfastTesting

/// Runs Swift concurrency on one dedicated thread, in an order that a seed determines, so that a
/// run can be repeated exactly.
///
/// Whatever a task on this thread starts or resumes stays on it, unstructured tasks included: the
/// runtime's hook for jobs without an executor hands every job that is enqueued *from* this thread
/// back to it. Other threads, and so the other tests of the process, are not affected. A task waits
/// for its turn with ``yield()``, because `Task.yield()` can leave the thread.
///
/// Unlike a pool, it detects that nothing can run any more. So time moves only while all tasks wait
/// (``quiesce()``), and a caller that will never be resumed is found at once.
final class SerialThread: @unchecked Sendable {
    // Unchecked: all of its state is used on its one thread alone, from the first job to the last.

    /// How the next step is chosen.
    enum Order: Sendable {
        /// In the order in which they became ready.
        case first
        /// Any that is ready.
        case any
    }

    /// The reason why a run ended before its body did.
    enum Failure: Error {
        /// No task can run, and the body has not ended.
        case stuck
        /// So many jobs ran that it looks like a loop without end.
        case endless
        /// It took too long by the wall clock.
        case timedOut
    }

    private enum Step {
        case job(UnownedJob)
        case resume(CheckedContinuation<Void, Never>)
    }

    private var ready: [Step] = []
    private var firstReady = 0
    private var idle: CheckedContinuation<Void, Never>?
    private var generator: SeededRandom
    private let order: Order
    private(set) var jobCount = 0

    private init(order: Order, generator: SeededRandom) {
        self.order = order
        self.generator = generator
    }

    /// Waits until no other task can run: all wait for time, or for a task that does.
    func quiesce() async {
        await withCheckedContinuation { idle = $0 }
    }

    /// Lets other ready tasks run first.
    ///
    /// `Task.yield()` does so on this thread only if the task is on no actor. An actor's task goes
    /// to the runtime's pool, past the hook, and the tasks that it wakes there follow it. Then no
    /// task is ready here although not all wait, so that time passes too early.
    static func yield() async {
        await withCheckedContinuation { continuation in
            guard let thread = Hook.current else { preconditionFailure("A task of the simulation left its thread.") }
            thread.ready.append(.resume(continuation))
        }
    }

    /// Whether the caller runs on such a thread.
    static var isCurrent: Bool { Hook.current != nil }

    /// Runs a body to its end, on a new thread.
    static func run<Value: Sendable>(
        order: Order,
        generator: SeededRandom,
        limit: Duration,
        _ body: @escaping @Sendable (SerialThread) async -> Value
    ) async throws -> Value {
        Hook.install()
        return try await withCheckedThrowingContinuation { continuation in
            let thread = Thread {
                continuation.resume(with: SerialThread(order: order, generator: generator).perform(limit: limit, body))
            }
            thread.stackSize = 4 << 20
            thread.start()
        }
    }

    private func perform<Value: Sendable>(
        limit: Duration,
        _ body: @escaping @Sendable (SerialThread) async -> Value
    ) -> Result<Value, any Error> {
        Hook.enter(self)
        defer { Hook.leave() }
        let value = Box<Value>()
        Task { value.content = await body(self) }
        let end = ContinuousClock.now + limit  // a guard
        while true {
            guard let step = takeStep() else {
                if let idle {
                    self.idle = nil
                    idle.resume()
                    continue
                }
                return value.content.map { .success($0) } ?? .failure(Failure.stuck)
            }
            jobCount += 1
            switch step {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .resume(let continuation): continuation.resume()
            }
            if jobCount > 20_000_000 { return .failure(Failure.endless) }
            if jobCount & 1023 == 0, ContinuousClock.now > end { return .failure(Failure.timedOut) }  // a guard
        }
    }

    private func takeStep() -> Step? {
        guard firstReady < ready.count else {
            ready.removeAll(keepingCapacity: true)
            firstReady = 0
            return nil
        }
        if case .any = order, ready.count - firstReady > 1 {
            ready.swapAt(firstReady, generator.int(firstReady...(ready.count - 1)))
        }
        defer { firstReady += 1 }
        return ready[firstReady]
    }

    fileprivate func add(_ job: UnownedJob) { ready.append(.job(job)) }
}

extension SerialThread: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }
    func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}

/// Written by a job and read after the last, on the same thread.
private final class Box<Value>: @unchecked Sendable {
    var content: Value?
}

/// The runtime's hook for jobs that no executor claims.
private enum Hook {
    typealias Original = @convention(thin) (UnownedJob) -> Void
    typealias Function = @convention(thin) (UnownedJob, Original) -> Void

    static let key: pthread_key_t = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "No thread-local key is left.")
        return key
    }()

    private static let isInstalled: Bool = {
        guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else { return false }
        symbol.assumingMemoryBound(to: Function?.self).pointee = { job, original in
            if let thread = Hook.current { thread.add(job) } else { original(job) }
        }
        return true
    }()

    /// The thread that runs the caller.
    static var current: SerialThread? {
        pthread_getspecific(key).map { Unmanaged<SerialThread>.fromOpaque($0).takeUnretainedValue() }
    }

    static func install() {
        precondition(isInstalled, "The Swift runtime has no 'swift_task_enqueueGlobal_hook'; simulations need it.")
    }

    static func enter(_ thread: SerialThread) {
        pthread_setspecific(key, Unmanaged.passUnretained(thread).toOpaque())
    }

    static func leave() { pthread_setspecific(key, nil) }
}
