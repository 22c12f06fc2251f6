import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import FleetTier

/// Each rule of reading a fleet log, by itself. Whole histories are in `SharingSimulationTests`.
@Suite(.timeLimit(.minutes(20))) struct FollowerTests {
    private static let lease = Duration.seconds(5)

    private func position(_ number: UInt64, in epoch: UInt64 = 8) -> LogPosition {
        LogPosition(epoch: epoch, number: number)
    }

    private func epoch(_ number: UInt64) -> LogEpoch {
        var random = SeededRandom(seed: number)
        return LogEpoch(number: number, name: EpochName(using: &random))
    }

    /// A follower that has read an epoch up to a number.
    private func follower(at number: UInt64, in epoch: UInt64 = 8, following: UInt64? = nil) -> Follower {
        let cursor = LogCursor(position: position(number, in: epoch), epochs: [epoch: number])
        var follower = Follower(cursor: cursor, lease: Self.lease)
        follower.begin(self.epoch(following ?? epoch))
        return follower
    }

    private func entry(_ position: LogPosition, _ content: LogContent? = nil, at time: Int64 = 1000) -> LogEntry {
        // The content is the number, so that steps can be told apart.
        LogEntry(
            position: position,
            addedAt: EngineTime(milliseconds: time),
            content: content ?? .purge([UInt8(truncatingIfNeeded: position.number)])
        )
    }

    private func marker(_ epoch: UInt64, inherits: LogPosition?, at time: Int64 = 1000) -> LogEntry {
        let marker = EpochMarker(name: self.epoch(epoch).name, inherited: inherits)
        return entry(position(1, in: epoch), .marker(marker), at: time)
    }

    private func invalidation(_ number: UInt8) -> FleetInvalidation {
        var random = SeededRandom(seed: UInt64(number))
        let now = Timestamp(seconds: 0)
        let scope: InvalidationScope = number == 98 ? .tag("t") : .all
        return FleetInvalidation(id: PurgeID(using: &random), scope: scope, effect: .remove, issuedAt: now)
    }

    private func decide(
        _ follower: inout Follower,
        _ entries: [LogEntry],
        epoch number: UInt64 = 8,
        hasCursor: Bool = true
    ) -> Follower.Decision {
        let batch = LogBatch(
            entries: entries,
            epoch: epoch(number),
            atCursor: hasCursor ? entry(follower.cursor.position) : nil
        )
        return follower.decide(batch) { sealed, _ in sealed[0] == 99 ? nil : invalidation(sealed[0]) }
    }

    private func reading(_ decision: Follower.Decision) throws -> Follower.Reading {
        guard case .apply(let reading) = decision else {
            Issue.record("not applied: \(decision)")
            throw NotApplied()
        }
        return reading
    }

    private struct NotApplied: Error {}

    private static let gap: [LogStep] = [.republish(after: .zero, before: nil), .distrust]

    // MARK: One history

    @Test func entriesInARowAreApplied() throws {
        var follower = follower(at: 3)
        let decision = decide(&follower, [entry(position(4)), entry(position(5))])
        let reading = try reading(decision)
        #expect(reading.steps == [.apply(invalidation(4), position(4)), .apply(invalidation(5), position(5))])
        #expect(reading.cursor == LogCursor(position: position(5), epochs: [8: 5]) && !reading.hasGap)
        // Nothing moves before the store has it.
        #expect(follower.cursor.position == position(3))
        follower.commit(reading)
        #expect(follower.cursor.position == position(5) && follower.readsAfter == position(5))
    }

    @Test func aMissingEntryIsAGap() throws {
        var follower = follower(at: 3)
        let decision = decide(&follower, [entry(position(5))])
        let reading = try reading(decision)
        #expect(reading.steps == Self.gap + [.apply(invalidation(5), position(5))] && reading.hasGap)
    }

    @Test func unreadableEntriesAreCountedAndPassedOver() throws {
        var follower = follower(at: 3)
        let decision = decide(
            &follower,
            [entry(position(4), .unreadable), entry(position(5), .purge([99])), entry(position(6))]
        )
        let reading = try reading(decision)
        #expect(reading.steps == [.apply(invalidation(6), position(6))] && !reading.hasGap)
        #expect(reading.unopened == [position(4), position(5)])
        // A purge of everything covers what they were about.
        #expect(reading.hold == nil && reading.kept == reading.cursor)
    }

    /// A purge that cannot be opened is not in force, and comes again after a start: perhaps with
    /// the secret that was missing.
    @Test func entriesThatCannotBeOpenedHoldThePlaceThatIsKeptAndTold() throws {
        var follower = follower(at: 3)
        let before = follower.cursor
        var decision = decide(&follower, [entry(position(4), .purge([99])), entry(position(5), .purge([98]))])
        var reading = try reading(decision)
        #expect(reading.kept == before && reading.cursor.position == position(5))
        follower.commit(reading)
        #expect(follower.applied == position(3) && follower.cursor.position == position(5))
        decision = decide(&follower, [entry(position(6), .unreadable), entry(position(7), .purge([98]))])
        reading = try self.reading(decision)
        #expect(reading.kept == before && reading.hold?.count == 2 && reading.hold?.first == position(4))
        follower.commit(reading)
        // A contact of now does not say that this node has heard everything.
        follower.confirm(at: EngineTime(milliseconds: 1000))
        decision = decide(&follower, [marker(9, inherits: nil)], epoch: 8)
        #expect(try self.reading(decision).hasGap)
    }

    /// A new secret may open them. Until they have been read, a contact says nothing about them.
    ///
    /// Mutant: `held-entries-confirm-contact`.
    @Test func heldEntriesAreReadAgainBeforeAContactCounts() throws {
        var follower = follower(at: 3)
        let before = follower.cursor
        var goesBack = follower.readHeldAgain()
        #expect(!goesBack && follower.isFollowing)
        follower.commit(try reading(decide(&follower, [entry(position(4), .purge([99])), entry(position(5))])))
        #expect(follower.hold == nil)
        follower.commit(try reading(decide(&follower, [entry(position(6), .purge([99]))])))
        goesBack = follower.readHeldAgain()
        #expect(goesBack && follower.hold == nil && !follower.isFollowing)
        #expect(follower.cursor.position == position(5) && follower.applied == position(5))
        #expect(follower.cursor.epochs[before.position.epoch] == 5)
    }

    @Test func aGapOrAPurgeOfEverythingEndsAHold() throws {
        for last in [entry(position(5)), entry(position(7), .purge([98]))] {
            var follower = follower(at: 3)
            let decision = decide(&follower, [entry(position(4), .purge([99])), last])
            #expect(try reading(decision).hold == nil, "\(last.position)")
        }
    }

    /// It will not be read again.
    @Test func whatTheLogHasDroppedUnopenedMarksEverything() throws {
        var follower = follower(at: 3)
        follower.commit(try reading(decide(&follower, [entry(position(4), .purge([99]))])))
        #expect(follower.forgotten(before: position(4)) == nil)
        let reading = try #require(follower.forgotten(before: position(5)))
        #expect(reading.steps == Self.gap && reading.hold == nil && reading.kept == follower.cursor)
        follower.commit(reading)
        #expect(follower.applied == position(4) && follower.forgotten(before: position(9)) == nil)
    }

    /// The place that is kept has no knowledge of what is behind it: an entry that is gone after a
    /// start counts as missed.
    @Test func thePlaceThatIsKeptKnowsNothingBehindIt() throws {
        var follower = follower(at: 3)
        follower.commit(
            try reading(decide(&follower, [entry(position(4), .purge([99])), entry(position(5), .purge([98]))]))
        )
        var later = Follower(cursor: try #require(follower.hold).cursor, lease: Self.lease)
        later.begin(epoch(8))
        guard case .readAgain = decide(&later, [entry(position(5), .purge([98]))], hasCursor: false) else {
            Issue.record("it continues behind an entry that is gone")
            return
        }
        let decision = decide(&later, [entry(position(5), .purge([98]))], hasCursor: false)
        #expect(try reading(decision).hasGap)
    }

    @Test func anotherEpochIsBegunFirst() {
        var follower = follower(at: 3)
        guard case .begin = decide(&follower, [entry(position(4))], epoch: 9) else {
            Issue.record("the batch of another epoch was applied")
            return
        }
        follower.loseContact()
        guard case .begin = decide(&follower, [entry(position(4))]) else {
            Issue.record("a batch was applied before an epoch was begun")
            return
        }
    }

    // MARK: Markers

    @Test func aServerThatInheritedEverythingIsNoGap() throws {
        var follower = follower(at: 3, following: 9)
        let decision = decide(
            &follower,
            [entry(position(4)), marker(9, inherits: position(4)), entry(position(2, in: 9))],
            epoch: 9
        )
        let reading = try reading(decision)
        let steps: [LogStep] = [
            .apply(invalidation(4), position(4)), .republish(after: position(4), before: position(1, in: 9)),
            .apply(invalidation(2), position(2, in: 9)),
        ]
        #expect(reading.steps == steps && !reading.hasGap && reading.markers == 1)
        #expect(reading.cursor.epochs == [8: 4, 9: 2])
    }

    @Test func aServerThatLostEntriesIsToldThemAgain() throws {
        var follower = follower(at: 5, following: 9)
        // The entry at the cursor is gone with them: the log is read again.
        guard case .readAgain = decide(&follower, [], epoch: 9, hasCursor: false) else {
            Issue.record("another history was taken for the same one")
            return
        }
        #expect(follower.readsAfter == .zero)
        let decision = decide(
            &follower,
            [marker(8, inherits: nil), entry(position(2)), entry(position(3)), marker(9, inherits: position(3))],
            epoch: 9,
            hasCursor: false
        )
        let reading = try reading(decision)
        #expect(reading.steps.last == .republish(after: position(3), before: position(1, in: 9)))
        // Its first entry was read, so nothing was missed.
        #expect(reading.cursor.position == position(1, in: 9))
        follower.commit(reading)
        #expect(follower.readsAfter == position(1, in: 9))
    }

    @Test func aServerThatInheritedMoreThanWasReadIsAGap() throws {
        var follower = follower(at: 3, following: 9)
        let decision = decide(&follower, [marker(9, inherits: position(6))], epoch: 9)
        #expect(try reading(decision).hasGap)
    }

    @Test(arguments: [(0, false), (4_999, false), (5_000, false), (5_001, true)])
    func aLostLogIsAGapForWhoWasNotInContact(_ silence: Int64, _ isGap: Bool) throws {
        var follower = follower(at: 3)
        follower.confirm(at: EngineTime(milliseconds: 1000))
        follower.begin(epoch(9))
        _ = decide(&follower, [], epoch: 9, hasCursor: false)
        let decision = decide(&follower, [marker(9, inherits: nil, at: 1000 + silence)], epoch: 9, hasCursor: false)
        let reading = try reading(decision)
        #expect(reading.hasGap == isGap)
        // Its entries are told again, by every node that knows them.
        #expect(reading.steps.first == .republish(after: .zero, before: position(1, in: 9)))
    }

    @Test func aLostLogIsAGapAfterARestart() throws {
        var follower = follower(at: 3, following: 9)
        _ = decide(&follower, [], epoch: 9, hasCursor: false)
        let decision = decide(&follower, [marker(9, inherits: nil)], epoch: 9, hasCursor: false)
        #expect(try reading(decision).hasGap)
    }

    @Test func contactOfAnotherEpochDoesNotCount() throws {
        var follower = follower(at: 3, following: 9)
        follower.confirm(at: EngineTime(milliseconds: 1000))
        #expect(!follower.isFollowing)
        _ = decide(&follower, [], epoch: 9, hasCursor: false)
        let decision = decide(&follower, [marker(9, inherits: nil)], epoch: 9, hasCursor: false)
        #expect(try reading(decision).hasGap)
    }

    // MARK: Reading again

    @Test func aLogThatBeginsBehindWhatWasReadIsAGap() throws {
        var follower = follower(at: 3)
        _ = decide(&follower, [], hasCursor: false)
        let decision = decide(&follower, [entry(position(6)), entry(position(7))], hasCursor: false)
        let reading = try reading(decision)
        #expect(reading.hasGap && reading.steps.prefix(2) == Self.gap[...])
        #expect(reading.cursor.position == position(7))
    }

    @Test func aLogThatBeginsWithWhatWasReadIsNone() throws {
        let cursor = LogCursor(position: position(9, in: 10), epochs: [8: 6, 10: 9])
        var follower = Follower(cursor: cursor, lease: Self.lease)
        follower.begin(epoch(11))
        _ = decide(&follower, [], epoch: 11, hasCursor: false)
        let decision = decide(
            &follower,
            [entry(position(6)), marker(11, inherits: position(6))],
            epoch: 11,
            hasCursor: false
        )
        let reading = try reading(decision)
        #expect(!reading.hasGap)
        // Of the epoch that the log does not have, too.
        #expect(reading.steps.last == .republish(after: position(6), before: position(1, in: 11)))
    }

    @Test func aLogThatIsEmptyIsBegunAgain() {
        var follower = follower(at: 3)
        _ = decide(&follower, [], hasCursor: false)
        guard case .begin = decide(&follower, [], hasCursor: false) else {
            Issue.record("an empty log was read")
            return
        }
    }

    @Test func theFirstContactMarksEverythingAndReadsFromTheEnd() {
        let follower = Follower(cursor: LogCursor(), lease: Self.lease)
        let reading = follower.first(LogBounds(first: position(2), last: position(40)))
        #expect(reading.steps == [.distrust] && reading.cursor == LogCursor(position: position(40), epochs: [8: 40]))
    }

    @Test func theOldestEpochsAreForgotten() throws {
        var epochs: [UInt64: UInt64] = [:]
        for epoch in 1...UInt64(LogCursor.epochLimit) { epochs[epoch] = 5 }
        var follower = Follower(cursor: LogCursor(position: position(5, in: 64), epochs: epochs), lease: Self.lease)
        follower.begin(epoch(65))
        let decision = decide(&follower, [marker(65, inherits: position(5, in: 64))], epoch: 65)
        let cursor = try reading(decision).cursor
        #expect(cursor.epochs.count == LogCursor.epochLimit && cursor.epochs[1] == nil && cursor.epochs[65] == 1)
    }
}
