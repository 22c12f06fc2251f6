import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Responses that must not answer the requests for which an attacker stores them.
///
/// docs/attacks.md, 15, 17. Each test names the mutant, a change of one line of the policy, that
/// makes it fail. `RangeTests` covers ranges.
@Suite(.timeLimit(.minutes(20)), .tags(.attacks)) struct PoisoningAttackTests {
    // MARK: 15: Vary is stored and applied; `*` is never reused

    /// Mutant: `SelectingField.areSameLines` returns `true` in its `default` case.
    @Test func selectedResponseNeedsItsSelectingField() {
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", "X-Tenant")], selecting: [("X-Tenant", "a")])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request([("x-tenant", "a")]), at: noon) == 0)
    }

    /// Mutant: `SelectingField.line` looks at the first line only (returns `field` at once).
    @Test func readsEveryLineOfASelectingField() {
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", "X-Tenant")], selecting: [("X-Tenant", "a")])
        let smuggled = request([("X-Tenant", "a"), ("X-Tenant", "b")])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: smuggled, at: noon) == nil)
    }

    /// Mutants: `matchesNominated` without its comparison with `*`; `storability` without
    /// `vary.hasWildcard`.
    @Test(arguments: ["*", "Accept, *", "*, Accept"])
    func varyStarIsNeitherStoredNorReused(vary: String) {
        let verdict = CachePolicy.shared.verdict(on: [("Cache-Control", "max-age=60"), ("Vary", vary)])
        #expect(verdict == .forbidden(.varyAny))
        let head = stored([("Cache-Control", "max-age=60"), ("Vary", vary)])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
    }

    /// Mutant: `matchesNominated` without `count <= FieldNameList.maximumNames`.
    @Test func varyOfAThousandNamesNeverMatches() {
        let vary = (0..<1000).map { "x\($0)" }.joined(separator: ",")
        let head = stored([("Vary", vary)])
        #expect(CachePolicy.shared.selectVariant(from: [head], for: request(), at: noon) == nil)
        let verdict = CachePolicy.shared.verdict(on: [("Cache-Control", "max-age=60"), ("Vary", vary)])
        #expect(verdict == .forbidden(.varyAny))
    }

    // MARK: 17: a part is not stored as a whole

    /// Mutant: `updated` without `FieldRules.isFixedByContent`.
    @Test func notModifiedKeepsLengthAndContentRange() throws {
        let head = stored([("ETag", "\"1\""), ("Content-Length", "5")])
        let update = response(
            [("ETag", "\"1\""), ("Content-Range", "bytes 0-0/5"), ("Content-Length", "1")],
            status: 304
        )
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: noon, responseTime: noon))
        #expect(new.fields[.contentLength] == "5" && !new.fields.contains(.contentRange))
    }
}
