import Dispatch
import Foundation
import HTTPCache
import Synchronization
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct CallExecutorTests {
    @Test func beginsOnTheCallersThreadAndLeavesItForTheDisk() async {
        let executor = CallExecutor(startsHere: true)
        let areCallers = await Caller().run(on: executor) { caller in
            caller.note()
            await executor.readyToBlock()
            caller.note()
            // The executor has left the thread already, so this does nothing.
            await executor.readyToBlock()
            caller.note()
        }
        #expect(areCallers == [true, false, false])
    }

    /// Mutant: `startsHere` ignored.
    @Test func beginsElsewhereIfItMustNotBlockTheCaller() async {
        let areCallers = await Caller().run(on: CallExecutor(startsHere: false)) { $0.note() }
        #expect(areCallers == [false])
    }

    /// Mutant: any number of jobs.
    @Test func onlyTheFirstThreeTasksRunOnTheThread() async {
        let executor = CallExecutor(startsHere: true)
        let areCallers = await Caller().run(on: executor) { caller in
            caller.note()
            let fetches = (0..<3).map { _ in Task(executorPreference: executor) { caller.note() } }
            for fetch in fetches { await fetch.value }
        }
        #expect(areCallers == [true, true, true, false])
    }

    @Test func continuesElsewhereAfterAWait() async {
        let areCallers = await Caller().run(on: CallExecutor(startsHere: true)) { caller in
            caller.note()
            // It continues when the caller's thread does something else.
            await withCheckedContinuation { caller.whenFree(resuming: $0) }
            caller.note()
        }
        #expect(areCallers == [true, false])
    }

    /// Only the call holds its executor, and the thread on which it began may live a little longer.
    /// An executor that does not hold itself ends the process now and then, not each time.
    @Test func callMayEndElsewhereBeforeItsThreadEnds() async {
        let calls = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    for _ in 0..<1000 {
                        await withTaskExecutorPreference(CallExecutor(startsHere: true)) {
                            await Self.wakingElsewhere()
                        }
                    }
                    return 1000
                }
            }
            return await group.reduce(0, +)
        }
        #expect(calls == 64_000)
    }

    @concurrent
    private static func wakingElsewhere() async {
        await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
    }

    @Test func networkCallBeginsOnTheCallersThreadUnlessSwitchedOff() async throws {
        let caller = Caller()
        let fixture = try await ManualFixture(transport: NotingTransport(thread: caller.thread))
        var areCallers: [Bool] = []
        // On a busy machine another thread may take over before a call sends its request. So one
        // call proves nothing.
        for _ in 0..<20 where !areCallers.contains(true) {
            areCallers = try await caller.run {
                let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/feed")
                _ = try await fixture.client.fetch(endpoint, .networkOnly)
            }
        }
        #expect(areCallers.contains(true) == EnvironmentSwitch.callExecutor.isOn)
        try await fixture.close()
    }

    @Test func queuedJobsLeaveWithTheLane() async {
        let executor = CallExecutor(startsHere: true)
        let areCallers = await Caller().run(on: executor) { caller in
            let fetch = Task(executorPreference: executor) { caller.note() }
            await executor.readyToBlock()
            caller.note()
            await fetch.value
        }
        #expect(areCallers == [false, false])
    }
}

/// Notes on which thread a request is sent.
private struct NotingTransport: Transport {
    let thread: Caller.OwnThread

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        thread.note()
        return TransportResponse(head: HTTPResponse(status: .ok), body: .empty)
    }
}

/// Makes calls from a thread that runs nothing else, so that the test can distinguish it from the
/// executor's thread.
private actor Caller {
    /// The thread of the caller, and for each note whether it was made on that thread.
    final class OwnThread: SerialExecutor {
        private let jobs = Mutex([UnownedJob]())
        private let waiting = Mutex([CheckedContinuation<Void, Never>]())
        private let arrival = DispatchSemaphore(value: 0)
        private let areHere = Mutex([Bool]())
        private let own = Mutex<ObjectIdentifier?>(nil)

        func start() {
            let thread = Thread { [self] in
                own.withLock { $0 = ObjectIdentifier(Thread.current) }
                while true {
                    arrival.wait()
                    if let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
                        job.runSynchronously(on: asUnownedSerialExecutor())
                    } else if let continuation = waiting.withLock({ $0.popLast() }) {
                        continuation.resume()
                    } else {
                        return
                    }
                }
            }
            thread.start()
        }

        func end() { arrival.signal() }

        /// Resumes a continuation on the thread when all that it does now has returned.
        func whenFree(resuming continuation: CheckedContinuation<Void, Never>) {
            waiting.withLock { $0.append(continuation) }
            arrival.signal()
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
            arrival.signal()
        }

        func note() {
            let isHere = own.withLock { $0 } == ObjectIdentifier(Thread.current)
            areHere.withLock { $0.append(isHere) }
        }

        var notes: [Bool] { areHere.withLock { $0 } }
    }

    let thread = OwnThread()
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init() { thread.start() }

    deinit { thread.end() }

    func run(_ body: @Sendable () async throws -> Void) async throws -> [Bool] {
        try await body()
        return thread.notes
    }

    func run(
        on executor: CallExecutor,
        _ body: @escaping @Sendable @concurrent (OwnThread) async -> Void
    ) async -> [Bool] {
        await withTaskExecutorPreference(executor) { await body(thread) }
        return thread.notes
    }
}
