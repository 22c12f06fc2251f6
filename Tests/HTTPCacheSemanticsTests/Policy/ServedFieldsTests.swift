import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Qualified no-cache, RFC 9111 §5.2.2.4.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111ResponseDirectives))
struct QualifiedNoCacheTests {
    private func served(
        _ head: StoredResponseHead,
        isValidated: Bool = false,
        in policy: CachePolicy = .private
    ) -> [String] {
        policy.servedFields(of: head, age: policy.currentAge(of: head, at: noon), isValidated: isValidated)
            .map(\.name.canonicalName)
    }

    @Test(arguments: ["no-cache=\"A, b\", max-age=60", "max-age=60, No-Cache=a, no-cache=\"B\""])
    func leavesOutNamedFieldsUntilValidation(value: String) {
        let head = stored([
            ("Date", noonDate), ("Cache-Control", value), ("A", "1"), ("B", "2"), ("C", "3"), ("a", "4"),
        ])
        #expect(CachePolicy.private.decision(head, after: 1) == .fresh)
        #expect(served(head) == ["date", "cache-control", "c", "age"])
        #expect(served(head, isValidated: true) == ["date", "cache-control", "a", "b", "c", "a", "age"])
    }

    @Test func storesTheNamedFields() {
        let received = response([("Cache-Control", "no-cache=\"a\""), ("A", "1")])
        #expect(CachePolicy.shared.storedFields(of: received).count == 2)
    }

    @Test func targetedFieldMayNameFields() {
        let head = stored([
            ("CDN-Cache-Control", "no-cache=\"a\", max-age=60"), ("Cache-Control", "no-cache=\"b\""), ("A", "1"),
            ("B", "2"),
        ])
        #expect(served(head, in: .shared) == ["cdn-cache-control", "cache-control", "b", "age", "date"])
        #expect(served(head) == ["cdn-cache-control", "cache-control", "a", "age", "date"])
    }

    @Test(
        .tags(.rfc9111Stale),
        arguments: [
            "content-type", "Content-Encoding", "content-length", "vary", "cache-control", "etag", "date", "age",
        ]
    )
    func namingAnEssentialFieldRequiresValidation(name: String) {
        let head = stored([("Cache-Control", "max-age=60, no-cache=\"x, \(name)\"")])
        #expect(CachePolicy.private.decision(head, after: 1) == .validate(.responseNoCache))
        #expect(CachePolicy.private.staleUse(of: head) == .forbidden(by: "no-cache"))
    }

    @Test func callersExpiryLiftsIt() {
        let head = stored([("Cache-Control", "no-cache=\"a\""), ("A", "1")], explicitExpiry: .distantFuture)
        #expect(served(head).contains("a"))
    }

    @Test func readsImmutableFromTheDecidingField() {
        #expect(CachePolicy.private.isImmutable(stored([("Cache-Control", "max-age=60, Immutable")])))
        #expect(!CachePolicy.private.isImmutable(stored([("Cache-Control", "max-age=60")])))
        let targeted = stored([("Cache-Control", "immutable"), ("CDN-Cache-Control", "max-age=60")])
        #expect(CachePolicy.private.isImmutable(targeted) && !CachePolicy.shared.isImmutable(targeted))
    }
}

/// Forwarded fields, RFC 9110 §7.6.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Storing))
struct ForwardedFieldsTests {
    @Test func dropsHopByHopAndNominatedFieldsOfARequest() {
        let received = fields([
            ("Host", "a.example"), ("Connection", "close, X-Private, keep-alive"), ("X-Private", "1"),
            ("Keep-Alive", "x"), ("TE", "trailers"),
            ("Upgrade", "h2c"), ("HTTP2-Settings", "x"), ("Proxy-Authorization", "x"), ("Transfer-Encoding", "chunked"),
            ("Accept", "a/b"),
            ("Accept", "c/d"),
        ])
        #expect(CachePolicy.forwardedFields(of: received).map(\.name.canonicalName) == ["host", "accept", "accept"])
    }

    @Test func dropsHopByHopAndNominatedFieldsOfAResponse() {
        let received = fields([
            ("Connection", "X-Private, set-cookie, cache-control, vary, content-type"), ("X-Private", "1"),
            ("Set-Cookie", "a"),
            ("Cache-Control", "private"), ("Vary", "Cookie"), ("Content-Type", "a/b"), ("Transfer-Encoding", "chunked"),
            ("Server", "x"),
        ])
        #expect(
            CachePolicy.private.forwardedResponseFields(of: received).map(\.name.canonicalName) == [
                "set-cookie", "cache-control", "vary", "content-type", "server",
            ]
        )
    }
}
