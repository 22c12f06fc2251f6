import Dispatch
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

@testable import HoldfastControl

/// The signs of life for a service manager, on a socket as systemd has it and a clock that the test
/// moves.
@Suite(.timeLimit(.minutes(20))) struct WatchdogTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func watchdog(seconds: Int) throws -> Watchdog {
        try #require(try Watchdog(environment: ["WATCHDOG_USEC": "\(seconds * 1_000_000)"], process: 7))
    }

    @Test func onlyTheProcessThatIsMeantIsWatched() throws {
        #expect(try Watchdog(environment: [:], process: 7) == nil)
        #expect(try Watchdog(environment: ["WATCHDOG_USEC": ""], process: 7) == nil)
        #expect(try Watchdog(environment: ["WATCHDOG_USEC": "30000000"], process: 7)?.limit == .seconds(30))
        for (number, isMeant) in [("7", true), ("8", false), ("", true)] {
            let environment = ["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": number]
            #expect(try (Watchdog(environment: environment, process: 7) != nil) == isMeant, "\(number)")
        }
    }

    @Test(arguments: ["0", "-1", "+1", "30s", "1.5", " 1", "9223372036854775808", "soon"])
    func malformedTimeIsNamed(_ value: String) throws {
        let refusal = #expect(throws: InvalidSetting.self) {
            try Watchdog(environment: ["WATCHDOG_USEC": value], process: 7)
        }
        let text = refusal?.description ?? ""
        #expect(
            text.contains("'WATCHDOG_USEC' must be") && text.contains("not '\(value)'") && text.contains("from 1 to"),
            "\(text)"
        )
        #expect(text.contains("WatchdogSec"))
    }

    @Test func malformedProcessIsNamed() throws {
        let refusal = #expect(throws: InvalidSetting.self) {
            try Watchdog(environment: ["WATCHDOG_USEC": "1", "WATCHDOG_PID": "self"], process: 7)
        }
        #expect(refusal?.description.contains("'WATCHDOG_PID' must be a process ID, not 'self'") == true)
    }

    @Test func signIsSentEveryHalfOfTheTime() async throws {
        let socket = try NotifySocket()
        let (manager, clock, watchdog) = (socket.manager, ManualDurationClock(), try watchdog(seconds: 30))
        let loops = LoopWatch(Array(MultiThreadedEventLoopGroup.singleton.makeIterator()))
        let task = Task { await watchdog.run(manager, loops, clock: clock, logger: Self.quiet) }
        for number in 0..<30 {
            await clock.sleepers(atLeast: 1)
            #expect(socket.received() == ["WATCHDOG=1"])
            #expect(clock.deadlines.map(\.offset) == [.seconds((number + 1) * 15)])
            clock.advance(by: .seconds(15))
        }
        task.cancel()
        await task.value
    }

    @Test func loopThatHangsWithholdsTheSignUntilItAnswers() async throws {
        let socket = try NotifySocket()
        let (manager, clock, watchdog) = (socket.manager, ManualDurationClock(), try watchdog(seconds: 30))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let isReleased = DispatchSemaphore(value: 0)
        group.next().execute { isReleased.wait() }
        let now = Mutex(NIODeadline.uptimeNanoseconds(0))
        let loops = LoopWatch([MultiThreadedEventLoopGroup.singleton.next(), group.next()]) { now.withLock { $0 } }
        let log = CapturedLog()
        let task = Task { await watchdog.run(manager, loops, clock: clock, logger: log.logger(.error)) }
        while loops.waitingLoops != [1], !Task.isCancelled { await Task.yield() }
        now.withLock { $0 = $0 + .seconds(2) }
        for _ in 0..<30 {
            await clock.sleepers(atLeast: 1)
            #expect(socket.received().isEmpty)
            clock.advance(by: .seconds(1))
        }
        await clock.sleepers(atLeast: 1)
        isReleased.signal()
        try await group.next().submit {}.get()
        // It answers late, and the sign does not wait for half of the time.
        clock.advance(by: .seconds(1))
        await clock.sleepers(atLeast: 1)
        #expect(socket.received() == ["WATCHDOG=1"])
        #expect(log.events.count == 1, "one line for each time that it hangs")
        task.cancel()
        await task.value
        try await group.shutdownGracefully()
    }

    @Test func signThatCannotBeSentIsSentSoon() async throws {
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/at/all"])
        let (clock, watchdog) = (ManualDurationClock(), try watchdog(seconds: 4))
        let loops = LoopWatch([MultiThreadedEventLoopGroup.singleton.next()])
        let task = Task { await watchdog.run(manager, loops, clock: clock, logger: Self.quiet) }
        await clock.sleepers(atLeast: 1)
        #expect(clock.deadlines.map(\.offset) == [.milliseconds(500)])
        task.cancel()
        await task.value
    }
}
