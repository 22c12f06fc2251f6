import Dispatch
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

@Suite(.timeLimit(.minutes(20))) struct ExecutionContextTests {
    /// A store that fails until the executor is asked. Mutant: a lookup that does not ask.
    @Test func ownExecutorIsAskedBeforeBlockingOnDisk() async throws {
        let fixture = EngineFixture()
        fixture.transport.script(EngineFixture.url, .fresh("feed"))
        _ = try await fixture.get()
        fixture.store.fail([.lookup, .openBody])
        var request = try fixture.request()
        request.preference = .storedOnly
        request.executionContext = .own(OneThread { fixture.store.recover() })
        let response = try await fixture.engine.respond(to: request)
        let text = try await String(buffer: response.body.collect(upTo: 100))
        #expect(response.source == .store && text == "feed")
        #expect(fixture.store.failures.isEmpty)
    }

    private final class OneThread: ExecutionContext.BlockingExecutor {
        private let queue = DispatchQueue(label: "one thread")
        private let getReady: @Sendable () -> Void

        init(_ getReady: @escaping @Sendable () -> Void) { self.getReady = getReady }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }

        func readyToBlock() async { getReady() }
    }
}
