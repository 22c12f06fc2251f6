import FleetTier
import HoldfastTesting
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import RedisTier

@Suite(.timeLimit(.minutes(20))) struct ChunkQueueTests {
    private let clock = ManualDurationClock()

    @Test func turnsComeInTheOrderOfTheCallers() async throws {
        let turns = ChunkQueue(clock: clock)
        let order = NumberList()
        try await turns.begin(within: .seconds(1))
        try await withThrowingTaskGroup { group in
            for number in 0..<5 {
                group.addTask {
                    try await turns.begin(within: .seconds(1))
                    order.append(number)
                    turns.end()
                }
                try await waitUntil { turns.waitingCount > number }
            }
            turns.end()
            try await group.waitForAll()
        }
        #expect(order.all == [0, 1, 2, 3, 4])
        // It is free again.
        try await turns.begin(within: .zero)
    }

    @Test func callerThatWaitsTooLongHasNoTurn() async throws {
        let turns = ChunkQueue(clock: ContinuousClock())
        try await turns.begin(within: .seconds(1))
        await #expect(throws: FleetLogError.timedOut) { try await turns.begin(within: .milliseconds(1)) }
        #expect(turns.waitingCount == 0)
        turns.end()
        try await turns.begin(within: .seconds(1))
    }

    @Test func cancelledCallerHasNoTurn() async throws {
        let turns = ChunkQueue(clock: clock)
        try await turns.begin(within: .seconds(1))
        let first = Task { try await turns.begin(within: .seconds(3600)) }
        try await waitUntil { turns.waitingCount >= 1 }
        let second = Task { try await turns.begin(within: .seconds(3600)) }
        try await waitUntil { turns.waitingCount >= 2 }
        first.cancel()
        await #expect(throws: FleetLogError.cancelled) { try await first.value }
        turns.end()
        try await second.value
    }
}

private final class NumberList: Sendable {
    private let numbers = Mutex<[Int]>([])

    var all: [Int] { numbers.withLock { $0 } }

    func append(_ number: Int) { numbers.withLock { $0.append(number) } }
}

@Suite(.timeLimit(.minutes(20))) struct ValueRepliesTests {
    @Test func otherFormsAreMalformed() {
        for reply in [.integer(2), .null, .bulk("1"), .array([])] as [RESPValue] {
            #expect(throws: FleetLogError.malformed("a script's reply")) { try ValueReplies.flag(reply) }
        }
        for reply in [.integer(1), .array([]), .simple("OK")] as [RESPValue] {
            #expect(throws: FleetLogError.malformed("a value")) { try ValueReplies.value(reply) }
        }
        for reply in [.null, .array([]), .array([.null, .null]), .bulk("x")] as [RESPValue] {
            #expect(throws: FleetLogError.malformed("values")) { try ValueReplies.values(reply, count: 1) }
        }
        #expect(throws: FleetLogError.malformed("a reply to SET")) { try ValueReplies.done(.null) }
    }

    /// A client takes the longest values that nodes put.
    @Test func longestValuesAreWithinTheLimitsOfAConnection() {
        let limits = RESPLimits()
        #expect(ValueLimits.longestValue <= limits.bulkLength && ValueLimits.longestChunk <= limits.bulkLength)
        #expect(ValueLimits.mostNames * (ValueLimits.longestValue + 16) + 16 <= limits.replyLength)
    }
}
