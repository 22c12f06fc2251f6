import HTTPCacheSemantics
import HTTPTypes
import Testing

/// An operator's extension of how stale responses may be while their origin fails.
@Suite(.timeLimit(.minutes(20))) struct ExtendedStalenessTests {
    private final class Overriding: PolicyOverriding {
        let overrides: PolicyOverrides
        let dependsOnContentType = false

        init(_ overrides: PolicyOverrides) { self.overrides = overrides }

        func overrides(forContentType contentType: String?) -> PolicyOverrides { overrides }
    }

    private static let kinds = [CacheKind.private, .shared]

    /// The reuse of a response that was fresh for a second, some seconds later.
    private func reuse(
        _ kind: CacheKind,
        _ directives: String,
        extended: Int64,
        after seconds: Int64,
        status: Int = 200,
        _ change: (inout PolicyOverrides) -> Void = { _ in }
    ) -> Reuse {
        var overrides = PolicyOverrides()
        change(&overrides)
        var policy = CachePolicy(kind: kind)
        policy.overriding = Overriding(overrides)
        policy.extendedStaleness = extended
        return policy.reuse(
            of: stored([("Cache-Control", directives)], status: status),
            for: request([]),
            at: noon.adding(milliseconds: seconds * 1000)
        )
    }

    @Test(.tags(.rfc9111Stale), arguments: kinds) func raisesTheLimitsOfRulesWhileTheOriginFails(_ kind: CacheKind) {
        let expected: [(Int64, isInTime: Bool)] = [(1, true), (11, true), (31, true), (32, false)]
        for (seconds, isInTime) in expected {
            let reuse = reuse(kind, "max-age=1", extended: 30, after: seconds) {
                $0.maximumStalenessUnreachable = 10
                $0.maximumStalenessOffline = 20
            }
            let limit = { (name: String) in isInTime ? Reuse.StaleUse.allowed : .forbidden(by: name) }
            let unreachable = reuse.staleUse(isOffline: false, isOriginUnreachable: true)
            #expect(unreachable == limit("stale.unreachable"), "\(seconds) s")
            #expect(reuse.staleUse(isOffline: true) == limit("stale.offline"), "\(seconds) s")
        }
        // An origin that can be asked is asked as before.
        let asked = reuse(kind, "max-age=1", extended: 30, after: 12) { $0.maximumStalenessUnreachable = 10 }
        #expect(asked.staleUse(isOffline: false) == .forbidden(by: "stale.unreachable"))
        #expect(asked.decision == .validate(.stale))
    }

    @Test(arguments: kinds) func lowersNoLimitAndRaisesNoZero(_ kind: CacheKind) {
        let longer = reuse(kind, "max-age=1, stale-if-error=60", extended: 5, after: 50) {
            $0.maximumStalenessUnreachable = 100
            $0.maximumStalenessOffline = 100
        }
        #expect(longer.staleUse(isOffline: false, isOriginUnreachable: true) == .allowed)
        #expect(longer.staleUse(isOffline: true) == .allowed)
        #expect(longer.allowsStaleOnError && !longer.isExtendedOnError)
        let never = reuse(kind, "max-age=1", extended: 300, after: 50) {
            $0.maximumStalenessUnreachable = 0
            $0.maximumStalenessOffline = 0
            $0.staleIfError = 0
        }
        #expect(never.staleUse(isOffline: false, isOriginUnreachable: true) == .forbidden(by: "stale.unreachable"))
        #expect(never.staleUse(isOffline: true) == .forbidden(by: "stale.offline"))
        #expect(!never.allowsStaleOnError)
        let unlimited = reuse(kind, "max-age=1", extended: 5, after: 5000)
        #expect(unlimited.staleUse(isOffline: false, isOriginUnreachable: true) == .allowed)
    }

    @Test(.tags(.rfc5861), arguments: kinds) func coversServerErrors(_ kind: CacheKind) {
        for (seconds, isCovered) in [(2, true), (31, true), (32, false)] as [(Int64, Bool)] {
            for directives in ["max-age=1", "max-age=1, stale-if-error=0"] {
                let reuse = reuse(kind, directives, extended: 30, after: seconds)
                #expect(reuse.allowsStaleOnError == isCovered && reuse.isExtendedOnError == isCovered, "\(seconds) s")
            }
        }
        #expect(!reuse(kind, "max-age=1", extended: 0, after: 2).allowsStaleOnError)
        let ruled = reuse(kind, "max-age=1", extended: 30, after: 20) { $0.staleIfError = 10 }
        #expect(ruled.allowsStaleOnError && ruled.isExtendedOnError)
        // A stored error that a client can provoke is never extended.
        #expect(!reuse(kind, "max-age=1", extended: 30, after: 2, status: 400).allowsStaleOnError)
    }

    @Test(
        .tags(.rfc9111Stale),
        arguments: [
            (CacheKind.shared, "must-revalidate"), (.shared, "no-cache"), (.shared, "proxy-revalidate"),
            (.shared, "s-maxage=1"), (.shared, "private"), (.private, "must-revalidate"), (.private, "no-cache"),
        ]
    ) func liftsNoProhibition(_ kind: CacheKind, _ directive: String) {
        let reuse = reuse(kind, "max-age=1, \(directive)", extended: 3600, after: 20) {
            $0.maximumStalenessUnreachable = 10
            $0.maximumStalenessOffline = 10
        }
        let name = String(directive.prefix { $0 != "=" })
        #expect(reuse.staleUse(isOffline: false, isOriginUnreachable: true) == .forbidden(by: name))
        #expect(reuse.staleUse(isOffline: true) == .forbidden(by: name))
        #expect(!reuse.allowsStaleOnError && reuse.staleUse == .forbidden(by: name))
    }

    @Test func sMaxageBindsAfterItsOwnStaleIfError() {
        // For a minute the origin itself permits it; the extension does not replace that
        // permission.
        let own = reuse(.shared, "s-maxage=1, stale-if-error=60", extended: 3600, after: 30)
        #expect(own.allowsStaleOnError && own.staleUse == .allowed)
        let later = reuse(.shared, "s-maxage=1, stale-if-error=60", extended: 3600, after: 90)
        #expect(!later.allowsStaleOnError && later.staleUse == .forbidden(by: "s-maxage"))
    }
}
