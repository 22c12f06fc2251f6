import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// Which fill may store, and how fills end.
@Suite(.timeLimit(.minutes(20))) struct FillRegistryEndTests {
    private let fixture: FillRegistryFixture
    private var registry: FillRegistry { fixture.registry }
    private var key: CacheKey { fixture.key }

    init() throws { fixture = try FillRegistryFixture() }

    // MARK: Storing

    /// Claims of in-flight fetches that run side by side, in the order in which their responses
    /// come.
    struct ClaimOrder: Sendable, CustomTestStringConvertible {
        struct Claim: Sendable {
            /// The in-flight fetch's place in the order in which they began.
            var fill: Int
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
                    Claim(fill: 0, isGranted: true), Claim(fill: 1, isGranted: true), Claim(fill: 2, isGranted: true),
                ]
            ),
            ClaimOrder(
                testDescription: "an older response does not replace a newer one",
                claims: [
                    Claim(fill: 1, isGranted: true), Claim(fill: 0, isGranted: false), Claim(fill: 2, isGranted: true),
                ]
            ),
            ClaimOrder(
                testDescription: "no older response replaces the newest",
                claims: [
                    Claim(fill: 2, isGranted: true), Claim(fill: 1, isGranted: false), Claim(fill: 0, isGranted: false),
                ]
            ),
            ClaimOrder(
                testDescription: "each variant is stored on its own",
                claims: [
                    Claim(fill: 1, language: "en", isGranted: true), Claim(fill: 0, language: "de", isGranted: true),
                    Claim(fill: 0, isGranted: true), Claim(fill: 0, language: "en", isGranted: false),
                ]
            ),
            ClaimOrder(
                testDescription: "a part keeps no older whole out",
                claims: [Claim(fill: 1, isPart: true, isGranted: true), Claim(fill: 0, isGranted: true)]
            ),
            ClaimOrder(
                testDescription: "a part does not replace a newer whole",
                claims: [Claim(fill: 1, isGranted: true), Claim(fill: 0, isPart: true, isGranted: false)]
            ),
            ClaimOrder(
                testDescription: "a part completes an older whole and lets a whole between them in",
                claims: [
                    Claim(fill: 0, isGranted: true), Claim(fill: 2, isPart: true, isGranted: true),
                    Claim(fill: 1, isGranted: true),
                ]
            ),
        ]
    }

    @Test(arguments: ClaimOrder.all) func responseIsStoredUnlessNewerOneIs(order: ClaimOrder) throws {
        let fills = try (0..<3).map { _ in try #require(fixture.admitAlone()) }
        for (place, claim) in order.claims.enumerated() {
            let isGranted = fixture.claim(fills[claim.fill], claim.language, isPart: claim.isPart)
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
        let invalidated = try fixture.lead(fence: 1)
        registry.detach(invalidated, key)
        let last = try #require(fixture.leadAtOnce())
        #expect(fixture.claim(last))
        for fill in [invalidated, alone, background] { #expect(!fixture.claim(fill)) }
    }

    // MARK: Detaching

    @Test func detachedFillIsNotJoinedAndNotOver() throws {
        let fill = try fixture.lead()
        registry.detach(fill, key)
        registry.detach(fill, key)
        #expect(registry.count == 1 && registry.memberCount == 0 && !fill.isCancelled)
        let next = try fixture.lead()
        registry.end(fill, key)
        #expect(registry.count == 1)
        #expect(fixture.admit().fill === next)
    }

    @Test func detachingReplacedFillLeavesItsSuccessor() throws {
        let replaced = try fixture.lead()
        let next = try fixture.lead(fence: 1)
        let alone = try #require(fixture.admitAlone())
        registry.detach(replaced, key)
        registry.detach(alone, key)
        #expect(fixture.admit(fence: 1).fill === next)
        #expect(registry.count == 3)
    }

    // MARK: Ending

    /// Three in-flight fetches of a key, of which callers may join the last one, end in any order.
    @Test(arguments: [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    func fillsEndInAnyOrder(order: [Int]) throws {
        let fills = try (0..<3).map { try fixture.lead(fence: Int64($0)) }
        var ended: Set<Int> = []
        for (place, fill) in order.enumerated() {
            let before = registry.endedCount(key)
            registry.end(fills[fill], key)
            ended.insert(fill)
            #expect(registry.endedCount(key) == before &+ 1)
            #expect(registry.count == 2 - place)
            if ended.contains(2) {
                #expect(registry.memberCount == 0)
            } else {
                #expect(fixture.admit(fence: 2).fill === fills[2])
            }
        }
        #expect(fixture.admit().way == .leads)
    }

    @Test func endingLeavesFillsOfOtherKeys() throws {
        let fill = try fixture.lead()
        let other = try fixture.lead(fixture.otherKey)
        registry.end(fill, key)
        #expect(registry.count == 1)
        #expect(fixture.admit(fixture.otherKey).fill === other)
    }

    /// A registry that kept fills would keep their responses.
    @Test func endedFillsAreReleased() throws {
        weak var detached: Fill?
        weak var replaced: Fill?
        weak var alone: Fill?
        do {
            let fills = [try fixture.lead(), try fixture.lead(fence: 1), try #require(fixture.admitAlone())]
            registry.detach(fills[1], key)
            (replaced, detached, alone) = (fills[0], fills[1], fills[2])
            for fill in fills { registry.end(fill, key) }
        }
        #expect(detached == nil && replaced == nil && alone == nil)
    }

    // MARK: Closing

    /// One of each kind: joined, replaced, alone, detached and in the background.
    @Test func closingCancelsEveryFillAndWaitsForTheLast() async throws {
        let detached = try fixture.lead()
        registry.detach(detached, key)
        let background = try #require(fixture.admitInBackground())
        let replaced = try fixture.lead(fence: 1)
        let fills = [
            detached, background, replaced, try fixture.lead(fence: 2), try #require(fixture.admitAlone()),
            try fixture.lead(fixture.otherKey),
        ]
        let keys = Array(repeating: key, count: 5) + [fixture.otherKey]
        let closing = Task {
            await registry.close()
            return registry.count
        }
        while !fills.allSatisfy(\.isCancelled) { await Task.yield() }
        #expect(fixture.admit().way == .isRejected)
        for (fill, key) in zip(fills, keys) { registry.end(fill, key) }
        #expect(await closing.value == 0)
    }

    @Test func thirtyClosersWaitForTheLastFill() async throws {
        let fills = try (0..<30).map { _ in try #require(fixture.admitAlone()) }
        let left = await withTaskGroup { group in
            for _ in 0..<30 {
                group.addTask {
                    await registry.close()
                    return registry.count
                }
            }
            for fill in fills {
                group.addTask {
                    while !fill.isCancelled { await Task.yield() }
                    registry.end(fill, key)
                    return 0
                }
            }
            return await group.reduce(into: 0) { $0 += $1 }
        }
        #expect(left == 0, "a closer went on before the last fill had ended")
        await registry.close()
    }
}
