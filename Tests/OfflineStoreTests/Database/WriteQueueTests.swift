import Dispatch
import Testing

@testable import OfflineStore

/// The queue of the writer, without a writer.
@Suite(.timeLimit(.minutes(20))) struct WriteQueueTests {
    private let queue: WriteQueue

    init() throws { queue = WriteQueue(limits: try StoreLimits(CacheManager.Configuration(budget: 64 << 20))) }

    private static func job() -> WriteJob {
        WriteJob(bytes: 1, isDurable: false) { _ in
        } completion: { (_: Result<Void, any Error>) in
        }
    }

    /// Longer than any test may take: only an event ends such a rest.
    private static let forever = Duration.seconds(3600)

    @Test(.timeLimit(.minutes(20))) func operationEndsARest() {
        DispatchQueue.global().async { [queue] in _ = queue.append(Self.job()) }
        queue.rest(Self.forever)
        #expect(queue.takeBatch().jobs.count == 1)
        // The next rest waits for an operation of its own.
        queue.rest(.milliseconds(1))
        #expect(queue.isEmpty)
    }

    @Test(.timeLimit(.minutes(20))) func nobodyRestsWhileAnOperationWaits() {
        _ = queue.append(Self.job())
        queue.rest(Self.forever)
        #expect(!queue.isEmpty)
    }

    @Test(.timeLimit(.minutes(20))) func nobodyRestsWhileACallerWaitsForTheEnd() async {
        let (isWaiting, waits) = AsyncStream<Void>.makeStream()
        async let settled: Void = queue.settle { waits.yield() }
        for await _ in isWaiting { break }
        queue.rest(Self.forever)
        _ = queue.takeBatch()
        queue.resumeIdleCallers()
        await settled
    }

    @Test(.timeLimit(.minutes(20))) func nobodyRestsAfterTheStoreWasClosed() {
        queue.refuse(StoreError.closed)
        queue.rest(Self.forever)
    }
}
