import Dispatch
import HTTPCache
import HTTPCacheOperations
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import HoldfastControl

@Suite(.timeLimit(.minutes(20))) struct HealthTests {
    @Test(
        arguments: [
            StoreCondition.usable, .readOnly, .readOnlyOnFullDisk, .notWritable, .full, .evicting, .fullOfPins,
            .replaced,
        ],
        OfflineMode.allCases
    )
    func gatewayThatCanAnswerIsReady(_ store: StoreCondition, _ mode: OfflineMode) {
        for origins in [[], ["https://a.example"]] {
            let report = HealthReport.readiness(.serving, store, origins, ModeState(configured: mode))
            #expect(report.httpStatus == 200)
            #expect((report.status == .ok) == (store == .usable && mode != .offline && origins.isEmpty))
        }
    }

    @Test func gatewayThatCannotAnswerIsNotReady() {
        for phase in [ServingPhase.starting, .ending] {
            #expect(HealthReport.readiness(phase, .usable, [], ModeState(configured: .automatic)).httpStatus == 503)
        }
        let damaged = StoreCondition.unreadable("damaged")
        let report = HealthReport.readiness(.serving, damaged, [], ModeState(configured: .automatic))
        #expect(report.httpStatus == 503)
    }

    @Test func loopThatDoesNotAnswerIsNamed() async throws {
        let singleton = MultiThreadedEventLoopGroup.singleton
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let isReleased = DispatchSemaphore(value: 0)
        group.next().execute { isReleased.wait() }
        let loops: [any EventLoop] = [singleton.next(), group.next(), singleton.next()]
        let now = Mutex(NIODeadline.uptimeNanoseconds(0))
        let watch = LoopWatch(loops, limit: .seconds(2)) { now.withLock { $0 } }
        async let stuck = watch.stuckLoops()
        // The others have answered. Then its time is over.
        while watch.waitingLoops != [1], !Task.isCancelled { await Task.yield() }
        now.withLock { $0 = $0 + .seconds(2) }
        #expect(await stuck == [1])
        let report = HealthReport.liveness(stuckLoops: [1])
        #expect(report.httpStatus == 503 && report.checks["loops"]?.detail.contains("event loop 1") == true)
        // It answers late, and is well again.
        isReleased.signal()
        try await group.next().submit {}.get()
        #expect(await watch.stuckLoops() == [])
        try await group.shutdownGracefully()
    }

    @Test func loopsThatAnswerAreAlive() async {
        let loops = Array(MultiThreadedEventLoopGroup.singleton.makeIterator())
        #expect(await LoopWatch(loops).stuckLoops().isEmpty)
        #expect(HealthReport.liveness(stuckLoops: []).httpStatus == 200)
    }

    @Test func whatIsSharedDegradesOnly() {
        let mode = ModeState(configured: .automatic)
        for (isFollowing, status) in [(true, HealthStatus.ok), (false, .degraded)] {
            let fleet = FleetCondition(isFollowing: isFollowing, detail: "cut off")
            let report = HealthReport.readiness(.serving, .usable, [], mode, fleet: fleet)
            #expect(report.status == status && report.httpStatus == 200)
            #expect(report.checks["fleet"]?.detail == "cut off")
        }
        #expect(HealthReport.readiness(.serving, .usable, [], mode).checks["fleet"] == nil)
        // A balancer waits until a start has read what was purged before.
        let starting = FleetCondition(isFollowing: false, detail: "connecting", isStarting: true)
        #expect(HealthReport.readiness(.serving, .usable, [], mode, fleet: starting).httpStatus == 503)
    }
}
