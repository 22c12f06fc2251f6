package import HTTPCacheSemantics
import HTTPTypes

extension ExpiryFixture.Cache {
    /// The policy of this kind of cache.
    package var policy: CachePolicy { CachePolicy(kind: self == .shared ? .shared : .private) }
}

extension ExpiryFixture {
    /// Checks the fixture only against policies, without a store or an engine.
    ///
    /// - Parameter policy: returns the policy for a kind of cache; the standard policies by
    ///   default.
    /// - Returns: the differences from the fixture's expectations; empty if there are none.
    /// - Throws: ``ExpiryFixtureError`` if an instant is invalid.
    package func findings(_ policy: (Cache) -> CachePolicy = { $0.policy }) throws -> [ContractFinding] {
        var findings: [ContractFinding] = []
        for cache in caches {
            let policy = policy(cache)
            let head = try stored.head()
            let storability = policy.storability(
                of: HTTPResponse(status: head.status, headerFields: head.fields),
                to: Self.request(stored.request),
                hasCredentials: false,
                hasExplicitExpiry: head.explicitExpiry != nil
            )
            if (storability == .common) != (storable ?? true) {
                findings.append(finding("a \(cache) cache", "storable", "\(storable ?? true)", "\(storability)"))
            }
            for instant in then {
                let now = Timestamp(milliseconds: try instant.milliseconds(of: stored))
                let reuse = policy.reuse(of: head, for: Self.request(instant.request), at: now)
                let place = "a \(cache) cache at \(instant.at)"
                findings += self.findings(instant.expect, reuse, place)
                // The time in a store's index must match, unless the clock was set back.
                let (isFresh, until) = (reuse.freshness.isFresh, policy.freshUntil(head))
                if now >= head.responseTime, (now < until) != isFresh {
                    findings.append(finding(place, "freshUntil", isFresh ? "later" : "earlier", "\(until)"))
                }
            }
        }
        return findings
    }

    private func findings(_ expected: Expectation, _ reuse: Reuse, _ place: String) -> [ContractFinding] {
        var findings: [ContractFinding] = []
        func compare(_ what: String, _ expected: (some Equatable)?, _ came: some Equatable) {
            if let expected, "\(expected)" != "\(came)" {
                findings.append(finding(place, what, "\(expected)", "\(came)"))
            }
        }
        let (verdict, reason): (Verdict, String?) =
            switch reuse.decision {
            case .fresh: (.fresh, nil)
            case .staleAllowed: (.staleAllowed, nil)
            case .staleWhileRevalidate: (.staleWhileRevalidate, nil)
            case .validate(let reason): (.validate, reason.rawValue)
            }
        compare("verdict", expected.verdict, verdict)
        compare("reason", expected.reason, reason ?? "none")
        compare("lifetime", expected.lifetime?.milliseconds, reuse.freshness.lifetime.milliseconds)
        compare("source", expected.source, reuse.freshness.lifetime.source.rawValue)
        compare("age", expected.age.map { Int64(($0 * 1000).rounded()) }, reuse.freshness.age.milliseconds)
        // A time beyond the range of any clock counts as infinite.
        let timeToLive = reuse.freshness.millisecondsToLive > 1 << 50 ? .max : reuse.freshness.millisecondsToLive
        compare("ttl", expected.ttl?.milliseconds, timeToLive)
        if let staleUse = expected.staleUse {
            let expected = staleUse == "allowed" ? Reuse.StaleUse.allowed : .forbidden(by: staleUse)
            if reuse.staleUse != expected {
                findings.append(finding(place, "stale_use", "\(expected)", "\(reuse.staleUse)"))
            }
        }
        compare("stale_on_error", expected.staleOnError, reuse.allowsStaleOnError)
        return findings
    }

    func finding(_ place: String, _ what: String, _ expected: String, _ came: String) -> ContractFinding {
        ContractFinding(
            rule: name.isEmpty ? title : "\(name): \(title)",
            detail: "\(what) in \(place): expected \(expected), got \(came)"
        )
    }

    static func request(_ lines: [Line]?) -> HTTPRequest {
        HTTPRequest(
            method: .get,
            scheme: "https",
            authority: "a.example",
            path: "/",
            headerFields: fields(lines ?? [])
        )
    }

    static func fields(_ lines: [Line]) -> HTTPFields {
        var fields = HTTPFields()
        for line in lines {
            if let name = HTTPField.Name(line.name) { fields.append(HTTPField(name: name, value: line.value)) }
        }
        return fields
    }
}

extension ExpiryFixture.Stored {
    func head() throws -> StoredResponseHead {
        StoredResponseHead(
            status: HTTPResponse.Status(code: status ?? 200),
            fields: ExpiryFixture.fields(response),
            requestTime: Timestamp(milliseconds: try requestMilliseconds()),
            responseTime: Timestamp(milliseconds: try responseMilliseconds()),
            explicitExpiry: try explicitExpiryMilliseconds().map(Timestamp.init(milliseconds:)),
            isInvalidated: invalidated ?? false
        )
    }
}
