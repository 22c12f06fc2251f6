import FleetTesting
import FleetTier
import HTTPCache
import HoldfastTesting
import Testing

/// The ends and the epochs of a log, as commands show them.
@Suite(.timeLimit(.minutes(20))) struct LogHistoryTests {
    private let world = InMemoryEngine()
    private let limit = Duration.seconds(600)

    private func begin(_ log: InMemoryFleetLog, knowing epoch: UInt64) async throws -> LogEpoch {
        var random = SeededRandom(seed: epoch &+ 1)
        return try await log.begin(knowing: epoch, using: &random, within: limit)
    }

    private func append(_ log: InMemoryFleetLog, _ count: Int, _ epoch: LogEpoch) async throws {
        for number in 0..<count {
            var random = SeededRandom(seed: epoch.number &+ UInt64(number))
            _ = try await log.append([1], purge: PurgeID(using: &random), in: epoch.number, within: limit)
        }
    }

    private func read(_ log: InMemoryFleetLog, last count: Int) async throws -> [LogPosition] {
        guard let start = try await log.position(before: count, within: limit) else { return [] }
        return try await log.follow(after: start, count: 512, wait: .zero, within: limit).entries.map(\.position)
    }

    @Test func emptyLogHasNoHistory() async throws {
        let log = world.engine.makeLog()
        #expect(try await log.epochs(most: 10, within: limit) == [])
        #expect(try await log.position(before: 10, within: limit) == nil)
    }

    @Test func lastEntriesAndEpochsAreFoundAcrossServers() async throws {
        var log = world.engine.makeLog()
        let first = try await begin(log, knowing: 0)
        try await append(log, 3, first)
        world.engine.restart(keepingData: true)
        log = world.engine.makeLog()
        let second = try await begin(log, knowing: first.number)
        try await append(log, 2, second)
        let epochs = try await log.epochs(most: 10, within: limit)
        #expect(epochs.map(\.epoch) == [second, first])
        #expect(epochs.map(\.inherited) == [LogPosition(epoch: first.number, number: 4), nil])
        #expect(try await log.epochs(most: 1, within: limit).map(\.epoch) == [second])
        let all =
            (1...4).map { LogPosition(epoch: first.number, number: $0) }
            + (1...3).map { LogPosition(epoch: second.number, number: $0) }
        for count in 0...9 { #expect(try await read(log, last: count) == all.suffix(count)) }
    }

    @Test func logThatWasLostBeginsAnew() async throws {
        var log = world.engine.makeLog()
        let first = try await begin(log, knowing: 0)
        try await append(log, 3, first)
        world.engine.restart(keepingData: false)
        log = world.engine.makeLog()
        let second = try await begin(log, knowing: first.number)
        #expect(try await log.epochs(most: 10, within: limit).map(\.epoch) == [second])
        #expect(try await read(log, last: 5) == [LogPosition(epoch: second.number, number: 1)])
    }
}
