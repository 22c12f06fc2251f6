import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import EventLoops
@testable import HoldfastGateway

/// Tasks on a loop.
@Suite(.timeLimit(.minutes(20)))
struct LoopExecutorTests {
    /// One loop with its executor and a bell.
    private func with(_ body: (any EventLoop, LoopExecutor, _ bell: any Channel) async throws -> Void) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let executor = LoopExecutor(group.any())
        let bell = try await LoopBell.install(on: group.any(), for: executor)
        let result: Result<Void, any Error>
        do { result = .success(try await body(group.any(), executor, bell)) } catch { result = .failure(error) }
        // This closes the bell as well.
        try await group.shutdownGracefully()
        try result.get()
    }

    /// Mutants: `runJobs` without a slice; one that continues by `eventLoop.execute` alone.
    @Test(arguments: [true, false]) func pollsSocketsEvenIfTasksNeverEnd(answersHits: Bool) async throws {
        try await with { eventLoop, executor, _ in
            let isConnected = Flag()
            // Otherwise, the tasks of a failed test would never end.
            defer { isConnected.set() }
            if answersHits { try await eventLoop.submit { executor.noteHit() }.get() }
            let tasks = (0..<2).map { _ in
                Task(executorPreference: executor) {
                    while !isConnected.isSet, !Task.isCancelled { await Task.yield() }
                }
            }
            let listener = try await ServerBootstrap(group: eventLoop)
                .childChannelInitializer { channel in
                    isConnected.set()
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let address = try #require(listener.localAddress)
            let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.hours(1))
                .connect(to: address).get()
            for task in tasks { await task.value }
            try await client.close()
            try await listener.close()
        }
    }

    /// Mutant: `perform` that runs the work at once.
    @Test func workWaitsUntilLoopHasFinishedItsTask() async throws {
        try await with { eventLoop, executor, _ in
            let done = Mutex<[Int]>([])
            try await eventLoop.submit {
                for number in 1...3 { executor.perform { done.withLock { $0.append(number) } } }
                done.withLock { $0.append(0) }
            }.get()
            await Task(executorPreference: executor) { done.withLock { $0.append(4) } }.value
            #expect(done.withLock { $0 } == [0, 1, 2, 3, 4])
        }
    }

    /// Mutant: a slice that ends only after a number of jobs.
    @Test func fewLongJobsEndASlice() async throws {
        try await with { eventLoop, executor, _ in
            let events = Mutex<[String]>([])
            try await eventLoop.submit {
                for number in 1...2 {
                    executor.perform {
                        // Behind this slice, and before the next one.
                        eventLoop.execute { events.withLock { $0.append("turn \(number)") } }
                        let end = NIODeadline.now() + .milliseconds(2)  // lets time pass
                        while NIODeadline.now() < end {}  // lets time pass
                        events.withLock { $0.append("job \(number)") }
                    }
                }
            }.get()
            while events.withLock({ $0.count }) < 3, !Task.isCancelled { await Task.yield() }
            #expect(events.withLock { $0 }.prefix(3) == ["job 1", "turn 1", "job 2"])
        }
    }

    /// Mutants: `handlerRemoved` that leaves the action; `ring` that does not ask whether the
    /// channel is active.
    @Test func tasksContinueWhenTheBellIsClosed() async throws {
        try await with { eventLoop, executor, bell in
            try await eventLoop.submit { executor.noteHit() }.get()
            let turns = Counter()
            let tasks = (0..<4).map { _ in
                Task(executorPreference: executor) {
                    for _ in 0..<20_000 {
                        turns.add(1)
                        await Task.yield()
                    }
                }
            }
            while turns.value < 1000, !Task.isCancelled { await Task.yield() }
            try await bell.close()
            for task in tasks { await task.value }
            #expect(turns.value == 80_000)
        }
    }
}

/// A flag for an event that has happened.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
}
