import FleetTesting
import FleetTier
import HTTPCache
import HoldfastTesting
import Testing

/// Faults of the engine in memory beyond those of the contract.
@Suite(.timeLimit(.minutes(20))) struct InMemoryLogTests {
    private let world = InMemoryEngine()
    private let limit = Duration.seconds(600)

    private func purge(_ number: UInt64) -> PurgeID {
        var random = SeededRandom(seed: number)
        return PurgeID(using: &random)
    }

    private func begin(_ log: InMemoryFleetLog, knowing epoch: UInt64 = 0) async throws -> LogEpoch {
        var random = SeededRandom(seed: epoch &+ 1)
        return try await log.begin(knowing: epoch, using: &random, within: limit)
    }

    private func append(_ log: InMemoryFleetLog, _ number: UInt64, _ epoch: LogEpoch) async throws -> LogPosition {
        try await log.append([UInt8(number)], purge: purge(number), in: epoch.number, within: limit)
    }

    @Test func cutNodeReachesNothingUntilItIsMended() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        log.cut()
        await #expect(throws: FleetLogError.unreachable) { try await append(log, 1, epoch) }
        await #expect(throws: FleetLogError.unreachable) { try await log.nodes(within: limit) }
        log.mend()
        #expect(try await append(log, 1, epoch).number == 2)
    }

    @Test func lostReplyIsOfAnEntryThatIsThere() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        log.loseReplies(1)
        await #expect(throws: FleetLogError.timedOut) { try await append(log, 1, epoch) }
        #expect(try await append(log, 1, epoch).number == 2)
        #expect(try await log.bounds(within: limit)?.last.number == 2)
    }

    @Test func replicaThatIsBehindLosesTheRest() async throws {
        let log = world.engine.makeLog()
        world.engine.setReplication(.onDemand)
        let epoch = try await begin(log)
        for number in 1...5 as ClosedRange<UInt64> { _ = try await append(log, number, epoch) }
        // The marker and two entries.
        world.engine.replicate(3)
        #expect(world.engine.failOver(oldPrimaryLives: false) == 3)
        await #expect(throws: FleetLogError.unreachable) { try await log.time(within: limit) }
        #expect(try await log.bounds(within: limit)?.last.number == 3)
        // A node that waits for the replica sends the rest.
        let later = try await begin(log, knowing: epoch.number)
        _ = try await append(log, 9, later)
        #expect(try await log.confirm(replicas: 1, in: later.number, wait: .zero, within: limit) == 1)
        #expect(world.engine.failOver(oldPrimaryLives: false) == 0)
    }

    @Test func droppedConnectionLeavesTheOldPrimary() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        world.engine.failOver(oldPrimaryLives: true)
        #expect(try await append(log, 1, epoch).number == 2)
        log.disconnect()
        await #expect(throws: FleetLogError.wrongEpoch) { try await append(log, 2, epoch) }
    }

    @Test func evictedEpochIsBegunAgainWithTheLog() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        let last = try await append(log, 1, epoch)
        world.engine.evictEpoch()
        await #expect(throws: FleetLogError.wrongEpoch) { try await append(log, 2, epoch) }
        let later = try await begin(log, knowing: epoch.number)
        let marker = try await log.entry(at: LogPosition(epoch: later.number, number: 1), within: limit)
        #expect(marker?.content == .marker(EpochMarker(name: later.name, inherited: last)))
    }

    @Test func readerOfADeadServerStopsWaiting() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        let cursor = LogPosition(epoch: epoch.number, number: 1)
        async let batch = log.follow(after: cursor, count: 1, wait: limit, within: limit)
        world.engine.restart(keepingData: false)
        do {
            // It began to wait behind the restart: it has another server.
            #expect(try await batch.epoch == nil)
        } catch {
            #expect(error as? FleetLogError == .unreachable)
        }
    }

    @Test func cancelledReaderStopsWaiting() async throws {
        let log = world.engine.makeLog()
        _ = try await begin(log)
        let task = Task { [limit] in
            try await log.follow(after: LogPosition(epoch: .max, number: 0), count: 1, wait: limit, within: limit)
        }
        task.cancel()
        await #expect(throws: FleetLogError.cancelled) { try await task.value }
    }

    @Test func trimKeepsTheLastEntry() async throws {
        let log = world.engine.makeLog()
        let epoch = try await begin(log)
        let last = try await append(log, 1, epoch)
        world.engine.trim(to: 0)
        #expect(try await log.bounds(within: limit) == LogBounds(first: last, last: last))
    }
}
