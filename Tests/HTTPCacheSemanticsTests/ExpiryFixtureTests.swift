import HTTPCacheSemantics
import HTTPTypes
import Testing

/// The expiry fixtures through the policy alone. (The same files run through store and engine elsewhere.)
@Suite("Expiry fixtures", .tags(.rfc9111Freshness))
struct ExpiryFixtureTests {
    @Test func thereAreFixtures() throws {
        #expect(try ExpiryFixture.all().count >= 100)
    }

    @Test(arguments: try ExpiryFixture.all())
    func holds(fixture: ExpiryFixture) throws {
        try #require(!fixture.then.isEmpty && !fixture.caches.isEmpty)
        for cache in fixture.caches {
            let policy = CachePolicy(kind: cache == .shared ? .shared : .private)
            let head = try storedHead(fixture.stored)
            let storability = policy.storability(
                of: HTTPResponse(status: head.status, headerFields: head.fields),
                to: HTTPRequest(
                    method: .get,
                    scheme: "https",
                    authority: "a.example",
                    path: "/",
                    headerFields: lines(fixture.stored.request)
                ),
                hasCredentials: false,
                hasExplicitExpiry: head.explicitExpiry != nil
            )
            #expect((storability == .shared) == (fixture.storable ?? true), "'\(fixture.name)': \(storability)")
            for instant in fixture.then {
                let now = Timestamp(milliseconds: try instant.milliseconds(of: fixture.stored))
                let request = HTTPRequest(
                    method: .get,
                    scheme: "https",
                    authority: "a.example",
                    path: "/",
                    headerFields: lines(instant.request)
                )
                let reuse = policy.reuse(of: head, for: request, at: now)
                check(instant.expect, reuse, "'\(fixture.name)' in a \(cache) cache at \(instant.at)")
                // What a store indexes says the same as the policy.
                let until = policy.freshUntil(head)
                let ignoresSetBack = now < head.responseTime
                if !ignoresSetBack {
                    #expect((now < until) == reuse.freshness.isFresh, "'\(fixture.name)' at \(instant.at)")
                }
            }
        }
    }

    private func storedHead(_ stored: ExpiryFixture.Stored) throws -> StoredResponseHead {
        StoredResponseHead(
            status: HTTPResponse.Status(code: stored.status ?? 200),
            fields: lines(stored.response),
            requestTime: Timestamp(milliseconds: try stored.requestMilliseconds()),
            responseTime: Timestamp(milliseconds: try stored.responseMilliseconds()),
            explicitExpiry: try stored.explicitExpiryMilliseconds().map(Timestamp.init(milliseconds:)),
            isInvalidated: stored.invalidated ?? false
        )
    }

    private func lines(_ lines: [ExpiryFixture.Line]?) -> HTTPFields {
        fields((lines ?? []).map { ($0.name, $0.value) })
    }

    private func check(_ expected: ExpiryFixture.Expectation, _ reuse: Reuse, _ place: String) {
        if let verdict = expected.verdict {
            switch reuse.decision {
            case .fresh: #expect(verdict == .fresh, "\(place)")
            case .staleAllowed: #expect(verdict == .staleAllowed, "\(place)")
            case .staleWhileRevalidate: #expect(verdict == .staleWhileRevalidate, "\(place)")
            case .validate(let reason):
                #expect(verdict == .validate, "\(place)")
                #expect(reason.rawValue == expected.reason, "\(place)")
            }
        }
        if let lifetime = expected.lifetime {
            #expect(reuse.freshness.lifetime.milliseconds == lifetime.milliseconds, "\(place)")
        }
        if let source = expected.source { #expect(reuse.freshness.lifetime.source.rawValue == source, "\(place)") }
        if let age = expected.age {
            #expect(reuse.freshness.age.milliseconds == Int64((age * 1000).rounded()), "\(place)")
        }
        switch expected.ttl {
        case nil: break
        case .never?: #expect(reuse.freshness.timeToLive > 1 << 50, "\(place)")
        case .number(let seconds)?:
            #expect(reuse.freshness.timeToLive == Int64((seconds * 1000).rounded()), "\(place)")
        }
        if let staleUse = expected.staleUse {
            #expect(reuse.staleUse == (staleUse == "allowed" ? .allowed : .forbidden(by: staleUse)), "\(place)")
        }
        if let staleOnError = expected.staleOnError {
            #expect(reuse.allowsStaleOnError == staleOnError, "\(place)")
        }
    }
}
