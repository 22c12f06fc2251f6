import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Synchronization
import TestSupport
import Testing

@testable import HoldfastControl

/// The sentence that a service manager shows, on a socket as systemd has it.
@Suite(.timeLimit(.minutes(20))) struct ServiceStatusTests {
    /// 2026-11-25T12:00:00Z
    private static let now = Timestamp(milliseconds: 1_795_608_000_000)

    private static func later(minutes: Int64) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds + minutes * 60_000)
    }

    private static func origins(_ reachable: Int, unreachableFor minutes: [Int64]) -> [OriginCondition] {
        (0..<reachable).map { OriginCondition(origin: "https://\($0).example") }
            + minutes.map { minutes in
                var origin = OriginCondition(origin: "https://unreachable.example")
                origin.reachability = .unreachable
                origin.since = later(minutes: -minutes)
                return origin
            }
    }

    private static func mode(_ configured: OfflineMode, offlineForMinutes minutes: Int64? = nil) -> ModeState {
        ModeState(
            configured: configured,
            temporary: minutes.map { TemporaryMode(.offline, until: later(minutes: $0), since: now, client: "uid 0") }
        )
    }

    @Test(arguments: [
        (origins(3, unreachableFor: []), mode(.automatic), StoreCondition.usable, "Serving"),
        (
            origins(2, unreachableFor: [12]), mode(.automatic), .usable,
            "Serving; 1 of 3 origins unreachable for 12 min"
        ),
        (
            origins(1, unreachableFor: [0, 125]), mode(.automatic), .usable,
            "Serving; 2 of 3 origins unreachable for up to 2 h 5 min"
        ),
        (
            origins(0, unreachableFor: [0]), mode(.automatic), .readOnly,
            "Serving; store read-only; 1 of 1 origins unreachable for less than a minute"
        ),
        (origins(1, unreachableFor: []), mode(.online), .notWritable, "Serving; disk not writable; mode online"),
        (origins(1, unreachableFor: []), mode(.automatic), .fullOfPins, "Serving; store full of pins"),
        (origins(1, unreachableFor: []), mode(.automatic), .full, "Serving; disk full"),
        (origins(1, unreachableFor: []), mode(.automatic), .readOnlyOnFullDisk, "Serving; disk full"),
        (origins(1, unreachableFor: []), mode(.automatic), .replaced, "Serving; store's folder replaced"),
        (
            origins(1, unreachableFor: []), mode(.automatic, offlineForMinutes: 120), .usable,
            "Serving; mode offline until 14:00"
        ),
        (
            origins(1, unreachableFor: []), mode(.automatic, offlineForMinutes: 1440), .unreadable("damaged"),
            "Serving; store unreadable; mode offline until 2026-11-26 12:00"
        ),
    ])
    func saysWhatAGatewayThatServesIsLacking(
        _ origins: [OriginCondition],
        _ mode: ModeState,
        _ store: StoreCondition,
        _ sentence: String
    ) {
        #expect(ServiceStatus.sentence(origins, mode, store, at: Self.now, in: .gmt) == sentence)
    }

    @Test func sentenceIsShortWithThousandsOfOrigins() {
        let origins = Self.origins(0, unreachableFor: Array(repeating: 1, count: 10_000))
        let mode = Self.mode(.automatic, offlineForMinutes: 1_000_000)
        #expect(ServiceStatus.sentence(origins, mode, .readOnly, at: Self.now).utf8.count < 200)
    }

    @Test func sentenceIsSentWhenItHasChanged() async throws {
        let socket = try NotifySocket()
        let (clock, status) = (ManualDurationClock(), ServiceStatus(socket.manager))
        let sentence = Mutex("Serving")
        let task = Task { await status.follow(clock: clock) { sentence.withLock { $0 } } }
        await clock.sleepers(atLeast: 1)
        #expect(socket.received() == ["STATUS=Serving"])
        for number in 0..<30 {
            clock.advance(by: ServiceStatus.interval)
            await clock.sleepers(atLeast: 1)
            #expect(socket.received().isEmpty, "it has not changed")
            sentence.withLock { $0 = "Serving; \(number)" }
            clock.advance(by: ServiceStatus.interval)
            await clock.sleepers(atLeast: 1)
            #expect(socket.received() == ["STATUS=Serving; \(number)"])
        }
        #expect(status.end())
        #expect(!status.end())
        sentence.withLock { $0 = "Serving; more" }
        clock.advance(by: ServiceStatus.interval)
        await clock.sleepers(atLeast: 1)
        #expect(socket.received() == ["STATUS=Stopping"], "the end is said once, and it is the last word")
        task.cancel()
        await task.value
    }

    @Test func sentenceThatWasNotSentIsTriedAgain() async throws {
        let socket = try NotifySocket()
        let path = socket.path + "-later"
        let (clock, status) = (
            ManualDurationClock(), ServiceStatus(ServiceManager(environment: ["NOTIFY_SOCKET": path]))
        )
        let task = Task { await status.follow(clock: clock) { "Serving" } }
        await clock.sleepers(atLeast: 1)
        try #require(symlink(socket.path, path) == 0)
        defer { unlink(path) }
        clock.advance(by: ServiceStatus.interval)
        await clock.sleepers(atLeast: 1)
        #expect(socket.received() == ["STATUS=Serving"])
        task.cancel()
        await task.value
    }

    @Test func nothingIsAskedWithoutAServiceManager() async {
        let status = ServiceStatus(ServiceManager(environment: ["NOTIFY_SOCKET": ""]))
        await status.follow {
            Issue.record("nothing is to be sent")
            return ""
        }
    }
}
