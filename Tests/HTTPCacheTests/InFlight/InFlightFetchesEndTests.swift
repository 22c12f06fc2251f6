import HTTPCacheSemantics
import Synchronization
import Testing

@testable import HTTPCache

/// Which in-flight fetch may store, and how in-flight fetches end.
@Suite(.timeLimit(.minutes(20))) struct InFlightFetchesEndTests {
    private let fixture: InFlightFetchesFixture
    private var registry: InFlightFetches { fixture.registry }
    private var key: StoreKey { fixture.key }

    init() throws { fixture = try InFlightFetchesFixture() }

    // MARK: Storing

    /// Claims of in-flight fetches that run side by side, in the order in which their responses
    /// come.
    struct ClaimOrder: Sendable, CustomTestStringConvertible {
        struct Claim: Sendable {
            /// The in-flight fetch's place in the order in which they began.
            var inFlight: Int
            var language = ""
            var isPart = false
            var isGranted: Bool
        }

        let testDescription: String
        let claims: [Claim]

        static let all = [
            ClaimOrder(
                testDescription: "a newer response replaces an older one",
                claims: [
                    Claim(inFlight: 0, isGranted: true), Claim(inFlight: 1, isGranted: true),
                    Claim(inFlight: 2, isGranted: true),
                ]
            ),
            ClaimOrder(
                testDescription: "an older response does not replace a newer one",
                claims: [
                    Claim(inFlight: 1, isGranted: true), Claim(inFlight: 0, isGranted: false),
                    Claim(inFlight: 2, isGranted: true),
                ]
            ),
            ClaimOrder(
                testDescription: "no older response replaces the newest",
                claims: [
                    Claim(inFlight: 2, isGranted: true), Claim(inFlight: 1, isGranted: false),
                    Claim(inFlight: 0, isGranted: false),
                ]
            ),
            ClaimOrder(
                testDescription: "each variant is stored on its own",
                claims: [
                    Claim(inFlight: 1, language: "en", isGranted: true),
                    Claim(inFlight: 0, language: "de", isGranted: true),
                    Claim(inFlight: 0, isGranted: true), Claim(inFlight: 0, language: "en", isGranted: false),
                ]
            ),
            ClaimOrder(
                testDescription: "a part keeps no older whole out",
                claims: [Claim(inFlight: 1, isPart: true, isGranted: true), Claim(inFlight: 0, isGranted: true)]
            ),
            ClaimOrder(
                testDescription: "a part does not replace a newer whole",
                claims: [Claim(inFlight: 1, isGranted: true), Claim(inFlight: 0, isPart: true, isGranted: false)]
            ),
            ClaimOrder(
                testDescription: "a part does not replace an older whole, and lets a whole between them in",
                claims: [
                    Claim(inFlight: 0, isGranted: true), Claim(inFlight: 2, isPart: true, isGranted: false),
                    Claim(inFlight: 1, isGranted: true),
                ]
            ),
        ]
    }

    @Test(arguments: ClaimOrder.all) func responseIsStoredUnlessNewerOneIs(order: ClaimOrder) throws {
        let inFlightFetches = try (0..<3).map { _ in try #require(fixture.admitAlone()) }
        for (place, claim) in order.claims.enumerated() {
            let isGranted = fixture.claim(inFlightFetches[claim.inFlight], claim.language, isPart: claim.isPart)
            #expect(isGranted == claim.isGranted, "claim \(place + 1)")
        }
    }

    @Test func claimsOfOtherKeysMakeNoDifference() throws {
        let old = try fixture.lead()
        let new = try fixture.lead(fixture.otherKey)
        #expect(fixture.claim(new, key: fixture.otherKey) && fixture.claim(old))
    }

    /// In-flight fetches are numbered in the order in which they begin, whatever the way.
    @Test func everyKindOfFillTakesPartInTheOrder() throws {
        let background = try #require(fixture.admitInBackground())
        let alone = try #require(fixture.admitAlone())
        let invalidated = try fixture.lead(fencingNumber: 1)
        registry.detach(invalidated, key)
        let last = try #require(fixture.leadAtOnce())
        #expect(fixture.claim(last))
        for inFlight in [invalidated, alone, background] { #expect(!fixture.claim(inFlight)) }
    }

    /// Mutant: a complete response is committed next to parts of its variant.
    @Test func wholeWaitsForThirtyPartsAndNotForThoseOfAnotherVariant() async throws {
        var parts = try (0..<30).map { _ in try #require(fixture.admitAlone()) }
        let other = try #require(fixture.admitAlone())
        let whole = try #require(fixture.admitAlone())
        for part in parts { #expect(fixture.claim(part, isPart: true)) }
        #expect(fixture.claim(other, "de", isPart: true))
        let ended = Atomic(0)
        let seen = Task { [registry, key] in
            let mayStore = await registry.mayStore(whole, key, InFlightFetchesFixture.head)
            return mayStore ? ended.load(ordering: .relaxed) : -1
        }
        // From its claim on, no part is stored.
        var late = try #require(fixture.admitAlone())
        while fixture.claim(late, isPart: true) {
            parts.append(late)
            await Task.yield()
            late = try #require(fixture.admitAlone())
        }
        for part in parts {
            await Task.yield()
            ended.add(1, ordering: .relaxed)
            registry.end(part, key)
        }
        #expect(await seen.value == parts.count)
        for inFlight in [late, other, whole] { registry.end(inFlight, key) }
        #expect(registry.count == 0)
    }

    // MARK: Detaching

    @Test func detachedFillIsNotJoinedAndNotOver() throws {
        let inFlight = try fixture.lead()
        registry.detach(inFlight, key)
        registry.detach(inFlight, key)
        #expect(registry.count == 1 && registry.memberCount == 0 && !inFlight.isCancelled)
        let next = try fixture.lead()
        registry.end(inFlight, key)
        #expect(registry.count == 1)
        #expect(fixture.admit().inFlight === next)
    }

    @Test func detachingReplacedFillLeavesItsSuccessor() throws {
        let replaced = try fixture.lead()
        let next = try fixture.lead(fencingNumber: 1)
        let alone = try #require(fixture.admitAlone())
        registry.detach(replaced, key)
        registry.detach(alone, key)
        #expect(fixture.admit(fencingNumber: 1).inFlight === next)
        #expect(registry.count == 3)
    }

    // MARK: Ending

    /// Three in-flight fetches of a key, of which callers may join the last one, end in any order.
    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func fillsEndInAnyOrder(order: [Int]) throws {
        let inFlightFetches = try (0..<3).map { try fixture.lead(fencingNumber: Int64($0)) }
        var ended: Set<Int> = []
        for (place, inFlight) in order.enumerated() {
            let before = registry.endedCount(key)
            registry.end(inFlightFetches[inFlight], key)
            ended.insert(inFlight)
            #expect(registry.endedCount(key) == before &+ 1)
            #expect(registry.count == 2 - place)
            if ended.contains(2) {
                #expect(registry.memberCount == 0)
            } else {
                #expect(fixture.admit(fencingNumber: 2).inFlight === inFlightFetches[2])
            }
        }
        #expect(fixture.admit().way == .leads)
    }

    @Test func endingLeavesFillsOfOtherKeys() throws {
        let inFlight = try fixture.lead()
        let other = try fixture.lead(fixture.otherKey)
        registry.end(inFlight, key)
        #expect(registry.count == 1)
        #expect(fixture.admit(fixture.otherKey).inFlight === other)
    }

    /// A registry that kept in-flight fetches would keep their responses.
    @Test func endedFillsAreReleased() throws {
        weak var detached: InFlightFetch?
        weak var replaced: InFlightFetch?
        weak var alone: InFlightFetch?
        do {
            let inFlightFetches = [
                try fixture.lead(), try fixture.lead(fencingNumber: 1), try #require(fixture.admitAlone()),
            ]
            registry.detach(inFlightFetches[1], key)
            (replaced, detached, alone) = (inFlightFetches[0], inFlightFetches[1], inFlightFetches[2])
            for inFlight in inFlightFetches { registry.end(inFlight, key) }
        }
        #expect(detached == nil && replaced == nil && alone == nil)
    }

    // MARK: Closing

    /// One of each kind: joined, replaced, alone, detached and in the background.
    @Test func closingCancelsEveryFillAndWaitsForTheLast() async throws {
        let detached = try fixture.lead()
        registry.detach(detached, key)
        let background = try #require(fixture.admitInBackground())
        let replaced = try fixture.lead(fencingNumber: 1)
        let inFlightFetches = [
            detached, background, replaced, try fixture.lead(fencingNumber: 2), try #require(fixture.admitAlone()),
            try fixture.lead(fixture.otherKey),
        ]
        let keys = Array(repeating: key, count: 5) + [fixture.otherKey]
        let closing = Task {
            await registry.close()
            return registry.count
        }
        while !inFlightFetches.allSatisfy(\.isCancelled) { await Task.yield() }
        #expect(fixture.admit().way == .isRejected)
        for (inFlight, key) in zip(inFlightFetches, keys) { registry.end(inFlight, key) }
        #expect(await closing.value == 0)
    }

    @Test func thirtyClosersWaitForTheLastFill() async throws {
        let inFlightFetches = try (0..<30).map { _ in try #require(fixture.admitAlone()) }
        let left = await withTaskGroup { group in
            for _ in 0..<30 {
                group.addTask {
                    await registry.close()
                    return registry.count
                }
            }
            for inFlight in inFlightFetches {
                group.addTask {
                    while !inFlight.isCancelled { await Task.yield() }
                    registry.end(inFlight, key)
                    return 0
                }
            }
            return await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(left == 0, "a closer went on before the last in-flight fetch had ended")
        await registry.close()
    }
}
