import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// Which caller leads an in-flight fetch, which joins one, and which looks into the store again.
@Suite(.timeLimit(.minutes(20))) struct InFlightFetchesTests {
    private let fixture: InFlightFetchesFixture
    private var registry: InFlightFetches { fixture.registry }
    private var key: StoreKey { fixture.key }

    init() throws { fixture = try InFlightFetchesFixture() }

    @Test func firstCallerLeadsAndNextOnesJoin() throws {
        let inFlight = try fixture.lead()
        for _ in 0..<3 {
            let (way, joined) = fixture.admit()
            #expect(way == .joins && joined === inFlight)
        }
        #expect(inFlight.memberCount == 4 && registry.memberCount == 4 && registry.count == 1)
    }

    @Test func callersOfOtherKeysDoNotJoin() throws {
        let inFlight = try fixture.lead()
        let other = try fixture.lead(fixture.otherKey)
        #expect(inFlight !== other)
        #expect(registry.count == 2)
    }

    @Test(
        arguments: [(0, 0, true), (1, 1, true), (1, 0, true), (0, 1, false), (6, 7, false)] as [(Int64, Int64, Bool)]
    )
    func callerJoinsOnlyFillThatBeganAfterLatestInvalidation(began: Int64, latest: Int64, joins: Bool) throws {
        let inFlight = try fixture.lead(fencingNumber: began)
        let (way, found) = fixture.admit(fencingNumber: latest)
        #expect(way == (joins ? .joins : .leads))
        #expect((found === inFlight) == joins)
        #expect(found?.fencingNumber == InvalidationSequence(max(began, latest)))
    }

    /// The older in-flight fetch continues for the callers that it has.
    @Test func laterCallersJoinFillThatBeganAfterInvalidation() throws {
        let old = try fixture.lead()
        let new = try fixture.lead(fencingNumber: 1)
        for fencingNumber in [0, 1] as [Int64] { #expect(fixture.admit(fencingNumber: fencingNumber).inFlight === new) }
        #expect(registry.count == 2 && !old.isCancelled)
        #expect(old.memberCount == 1 && new.memberCount == 3)
        #expect(registry.memberCount == 3)
    }

    @Test func callersUnderOtherRulesDoNotJoin() throws {
        let (one, other) = (RequestRules(), RequestRules())
        for (began, asks) in [(nil, one), (one, nil), (one, other)] as [(RequestRules?, RequestRules?)] {
            let fixture = try InFlightFetchesFixture()
            let inFlight = try fixture.lead(rules: began)
            #expect(try fixture.lead(rules: asks) !== inFlight)
        }
        for rules in [nil, one] {
            let fixture = try InFlightFetchesFixture()
            let inFlight = try fixture.lead(rules: rules)
            #expect(fixture.admit(rules: rules).inFlight === inFlight)
        }
    }

    @Test func fillThatWasGivenUpIsNotJoined() throws {
        let inFlight = try fixture.lead()
        inFlight.leave(isLeader: true)
        #expect(inFlight.isCancelled)
        #expect(try fixture.lead() !== inFlight)
    }

    @Test func callerLooksAgainIfFillEndedSinceItsLookup() throws {
        let before = registry.endedCount(key)
        let inFlight = try fixture.lead()
        registry.end(inFlight, key)
        #expect(fixture.admit(seen: before).way == .looksAgain)
        #expect(fixture.leadAtOnce(seen: before) == nil)
        #expect(registry.count == 0)
        #expect(fixture.admit(seen: registry.endedCount(key)).way == .leads)
    }

    @Test func callerDoesNotLookAgainIfNothingWasStored() throws {
        let before = registry.endedCount(key)
        registry.end(try fixture.lead(), key, changedNothing: true)
        #expect(registry.endedCount(key) == before)
        #expect(fixture.admit(seen: before).way == .leads)
    }

    /// Validating callers have looked already, and ask whatever is stored.
    @Test func callerThatComparesNothingLeads() throws {
        registry.end(try fixture.lead(), key)
        #expect(fixture.admit(seen: nil).way == .leads)
    }

    @Test func callerJoinsRatherThanLooksAgain() throws {
        let before = registry.endedCount(key)
        registry.end(try fixture.lead(), key)
        let inFlight = try fixture.lead()
        #expect(fixture.admit(seen: before).inFlight === inFlight)
    }

    /// The count is kept by a small hash: a collision costs a lookup, and must be rare.
    @Test func fewOtherKeysAreLookedUpAgain() throws {
        let others = try (0..<2560).map { StoreKey(target: try TargetURI("https://a.example/items/\($0)")) }
        let before = others.map(registry.endedCount)
        registry.end(try fixture.lead(), key)
        let changed = zip(others, before).count { registry.endedCount($0) != $1 }
        #expect(changed < 60, "ten are expected")
    }

    @Test func callersCheckIsAddedToFill() throws {
        let check = ContentCheck(maximumBytes: 9) { _, _ in }
        let inFlight = try fixture.lead()
        #expect(!inFlight.hasChecks)
        #expect(fixture.admit(check: check).inFlight === inFlight)
        #expect(inFlight.takeChecks().count == 1)
        #expect(try fixture.lead(fixture.otherKey, check: check).takeChecks().count == 1)
    }

    @Test func callerWithNewCheckDoesNotJoinOnceChecksRun() throws {
        final class Way: Sendable {}
        let way = Way()
        var known = ContentCheck(maximumBytes: 9) { _, _ in }
        known.kind = ContentCheckKind(Int.self, way: way)
        var unknown = known
        unknown.kind = ContentCheckKind(String.self, way: way)
        let inFlight = try fixture.lead(check: known)
        #expect(inFlight.takeChecks().count == 1)
        #expect(fixture.admit(check: known).inFlight === inFlight)
        #expect(fixture.admit().inFlight === inFlight)
        #expect(try fixture.lead(check: unknown) !== inFlight)
    }

    /// A response that came before a caller may be too old for it; one that is awaited is not.
    @Test func callerJoinsPublishedResponseOnlyIfItMayReuseIt() throws {
        let inFlight = try fixture.lead()
        #expect(fixture.admit(mayReuse: { _ in false }).inFlight === inFlight)
        let body = InFlightBody(length: nil, writer: nil) {}
        inFlight.publish(.shared(InFlightFetchesFixture.head, HTTPResponse(status: .ok), body))
        #expect(fixture.admit(mayReuse: { $0.status == .ok }).inFlight === inFlight)
        let (way, found) = fixture.admit(mayReuse: { _ in false })
        #expect(way == .leads && found !== inFlight)
    }

    // MARK: Other admissions

    @Test func callerThatDoesNotWaitLeadsOnlyWithoutOthers() throws {
        let first = try #require(fixture.leadAtOnce())
        #expect(fixture.leadAtOnce() == nil)
        #expect(fixture.admit().inFlight === first, "others may join it")
        registry.detach(first, key)
        let second = try #require(fixture.leadAtOnce())
        registry.end(second, key)
        #expect(fixture.admitAlone() != nil)
        #expect(fixture.leadAtOnce() != nil, "an in-flight fetch that no caller may join is not in its way")
    }

    @Test func soleFillIsJoinedByNoOther() throws {
        let alone = try #require(fixture.admitAlone())
        let inFlight = try fixture.lead()
        let beside = try #require(fixture.admitAlone())
        #expect(fixture.admit().inFlight === inFlight)
        #expect(alone.memberCount == 1 && beside.memberCount == 1 && inFlight.memberCount == 2)
        #expect(registry.count == 3 && registry.memberCount == 2)
    }

    @Test func backgroundFillContinuesWithoutCallers() throws {
        let inFlight = try #require(fixture.admitInBackground())
        #expect(inFlight.isBackground && inFlight.memberCount == 0)
        #expect(fixture.admit().inFlight === inFlight)
        inFlight.leave(isLeader: false)
        #expect(!inFlight.isCancelled)
        #expect(fixture.admit().inFlight === inFlight)
    }

    @Test func backgroundFillHasFenceRulesAndCheckOfItsRequest() throws {
        let rules = RequestRules()
        let check = ContentCheck(maximumBytes: 9) { _, _ in }
        let inFlight = try #require(fixture.admitInBackground(fencingNumber: 3, rules: rules, check: check))
        #expect(inFlight.hasChecks)
        #expect(fixture.admit(fencingNumber: 3, rules: rules).inFlight === inFlight)
        #expect(fixture.admit(fencingNumber: 3).way == .leads)
    }

    @Test func backgroundFillIsNotMadeBesideAnother() throws {
        let inFlight = try fixture.lead()
        #expect(fixture.admitInBackground() == nil)
        #expect(fixture.admitInBackground(fencingNumber: 1, rules: RequestRules()) == nil)
        registry.detach(inFlight, key)
        #expect(fixture.admitInBackground() != nil)
        #expect(fixture.admitInBackground() == nil)
    }

    /// A caller that has read the whole body may find the stored response stale before the fetch
    /// has ended. Mutant: `renewal-is-lost-next-to-an-ended-body`.
    @Test(arguments: [false, true]) func backgroundFillIsMadeBesideOneWhoseBodyHasEnded(isPart: Bool) throws {
        let inFlight = try fixture.lead()
        let body = InFlightBody(length: nil, writer: nil) {}
        inFlight.publish(.shared(InFlightFetchesFixture.head, HTTPResponse(status: .ok), body))
        #expect(fixture.admitInBackground(isPart: isPart) == nil)
        body.finish()
        #expect(fixture.leadAtOnce() == nil && registry.count == 1)
        let renewal = try #require(fixture.admitInBackground(isPart: isPart))
        registry.end(inFlight, key)
        #expect(registry.count == 1 && fixture.admitInBackground(isPart: isPart) == nil)
        registry.end(renewal, key)
        #expect(registry.count == 0)
    }

    @Test func closedRegistryAdmitsNoCaller() async throws {
        await registry.close()
        #expect(registry.isClosed)
        #expect(fixture.admit().way == .isRejected)
        #expect(fixture.leadAtOnce() == nil)
        #expect(fixture.admitAlone() == nil)
        #expect(fixture.admitInBackground() == nil)
        #expect(registry.count == 0)
    }

    // MARK: Thirty callers at once

    @Test func thirtyCallersShareOneFill() async throws {
        let entries = await withTaskGroup { group in
            for _ in 0..<30 { group.addTask { fixture.admit() } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let inFlight = try #require(entries[0].inFlight)
        #expect(entries.count { $0.way == .leads } == 1)
        #expect(entries.count { $0.way == .joins } == 29)
        #expect(entries.allSatisfy { $0.inFlight === inFlight })
        #expect(inFlight.memberCount == 30 && registry.count == 1)
    }

    /// A caller looks into the store, finds nothing, and asks for an in-flight fetch. One that
    /// ended between the two must not make it fetch again.
    @Test func thirtyCallersFetchOnceHoweverLookupsAndEndsInterleave() async throws {
        for round in 0..<200 {
            let fixture = try InFlightFetchesFixture()
            let isStored = Tally()
            let fetches = Tally()
            @Sendable func respond() {
                while true {
                    let seen = fixture.registry.endedCount(fixture.key)
                    if isStored.count > 0 { return }
                    switch fixture.admit(seen: seen) {
                    case (.looksAgain, _): continue
                    case (.leads, let inFlight?):
                        fetches.add()
                        isStored.add()
                        fixture.registry.end(inFlight, fixture.key)
                        return
                    default: return
                    }
                }
            }
            await withDiscardingTaskGroup { group in
                for _ in 0..<30 { group.addTask { respond() } }
            }
            #expect(fetches.count == 1, "round \(round)")
            #expect(fixture.registry.count == 0)
        }
    }
}
