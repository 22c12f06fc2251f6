import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Storing, RFC 9111 §3.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Storing))
struct StoringTests {
    private func cc(_ value: String) -> [(String, String)] { [("Cache-Control", value)] }

    private func decide(
        _ policy: CachePolicy,
        _ response: [(String, String)],
        status: Int = 200,
        request pairs: [(String, String)] = [],
        method: HTTPRequest.Method = .get,
        hasCredentials: Bool = false,
        methodIsKeyed: Bool = false,
        hasExplicitExpiry: Bool = false
    ) -> Storability {
        policy.storability(
            of: HTTPResponse(status: .init(code: status), headerFields: fields(response)),
            to: request(pairs, method: method),
            hasCredentials: hasCredentials,
            methodIsKeyed: methodIsKeyed,
            hasExplicitExpiry: hasExplicitExpiry
        )
    }

    /// Responses without caching fields: the statuses of RFC 9110 §15.1, except those that a
    /// malformed request can provoke.
    @Test(arguments: [
        (200, true), (203, true), (204, true), (300, true), (301, true), (308, true), (404, true), (410, true),
        (201, false), (202, false), (302, false), (303, false), (307, false), (403, false), (451, false),
        (500, false), (502, false), (503, false), (504, false), (299, false), (499, false), (599, false),
    ])
    func storesSomeStatusesWithoutALifetime(status: Int, isStored: Bool) {
        for policy in [CachePolicy.private, .shared] {
            #expect(decide(policy, [], status: status) == (isStored ? .common : .forbidden(.notExplicit)))
            #expect(decide(policy, cc("max-age=0"), status: status) == .common, "explicit freshness")
            #expect(decide(policy, [("Expires", "0")], status: status) == .common, "explicit freshness")
            #expect(decide(policy, [], status: status, hasExplicitExpiry: true) == .common)
        }
    }

    @Test(
        arguments: [
            (100, StorageRefusal.statusNotFinal), (103, .statusNotFinal), (206, .partialContent),
            (304, .statusAboutRequest),
            (401, .statusAboutRequest), (407, .statusAboutRequest), (412, .statusAboutRequest),
            (416, .statusAboutRequest),
            (428, .statusAboutRequest), (429, .statusAboutRequest), (431, .statusAboutRequest),
            (511, .statusAboutRequest),
            (0, .statusNotUnderstood), (99, .statusNotUnderstood), (600, .statusNotUnderstood),
            (999, .statusNotUnderstood),
        ] as [(Int, StorageRefusal)]
    )
    func neverStoresSomeStatuses(status: Int, refusal: StorageRefusal) {
        #expect(
            decide(.private, cc("public, max-age=60"), status: status, hasExplicitExpiry: true) == .forbidden(refusal)
        )
    }

    @Test func publicPermitsStoringExceptForProvokedErrors() {
        #expect(decide(.shared, cc("public"), status: 599) == .common)
        #expect(decide(.shared, cc("public"), status: 403) == .common)
        for status in [400, 405, 413, 414, 501] {
            #expect(decide(.shared, cc("public"), status: status) == .forbidden(.statusProvoked))
        }
    }

    @Test func sMaxageIsFreshnessInASharedCacheOnly() {
        #expect(decide(.shared, cc("s-maxage=1"), status: 403) == .common)
        #expect(decide(.private, cc("s-maxage=1"), status: 403) == .forbidden(.notExplicit))
    }

    @Test func noStoreIsNeverStored() {
        for policy in [CachePolicy.private, .shared] {
            #expect(decide(policy, cc("max-age=60, no-store"), hasExplicitExpiry: true) == .forbidden(.responseNoStore))
            #expect(decide(policy, cc("max-age=60"), request: cc("no-store")) == .forbidden(.requestNoStore))
        }
    }

    @Test func mustUnderstandOutranksNoStoreForKnownStatuses() {
        #expect(decide(.shared, cc("no-store, must-understand, max-age=60")) == .common)
        #expect(
            decide(.shared, cc("no-store, must-understand, max-age=60"), status: 599)
                == .forbidden(.statusNotUnderstood)
        )
        #expect(decide(.shared, cc("must-understand, max-age=60"), status: 299) == .forbidden(.statusNotUnderstood))
    }

    @Test func privateStaysOutOfASharedCache() {
        #expect(decide(.shared, cc("private, max-age=60")) == .forbidden(.privateResponse))
        #expect(decide(.shared, cc("private=\"X-A\", max-age=60")) == .common)
        #expect(decide(.shared, cc("private=\"X-A\", private, max-age=60")) == .forbidden(.privateResponse))
        #expect(decide(.private, cc("private, max-age=60")) == .common)
        #expect(decide(.private, cc("private, max-age=60"), hasCredentials: true) == .principal)
    }

    /// §3.5.
    @Test(arguments: [
        ("max-age=60", false, false), ("public", true, true), ("s-maxage=60", true, true),
        ("must-revalidate, max-age=60", true, false),
    ])
    func authorizationKeepsAResponseToItsPrincipal(value: String, mayBeShared: Bool, allowsSharing: Bool) {
        let authorization = [("Authorization", "Bearer x")]
        #expect(
            decide(.shared, cc(value), request: authorization) == (mayBeShared ? .common : .forbidden(.authorization))
        )
        #expect(decide(.private, cc(value), request: authorization) == (allowsSharing ? .common : .principal))
        #expect(decide(.private, cc(value), hasCredentials: true) == (allowsSharing ? .common : .principal))
    }

    @Test func privateOutranksSharingDirectives() {
        #expect(decide(.private, cc("private, must-revalidate, max-age=0"), hasCredentials: true) == .principal)
        #expect(decide(.private, cc("private=\"x\", public"), hasCredentials: true) == .principal)
    }

    @Test func sharesSetCookieOnlyIfConfigured() {
        let cookie = ("Set-Cookie", "a=b")
        #expect(decide(.shared, cc("max-age=60") + [cookie]) == .forbidden(.setCookie))
        #expect(decide(.shared, cc("public, max-age=60") + [cookie]) == .forbidden(.setCookie))
        let told = CachePolicy(kind: .shared, storesSetCookie: true)
        #expect(decide(told, cc("max-age=60") + [cookie]) == .forbidden(.setCookie))
        #expect(decide(told, cc("public, max-age=60") + [cookie]) == .common)
        #expect(decide(told, cc("s-maxage=60") + [cookie]) == .common)
        #expect(decide(.private, cc("max-age=60") + [cookie]) == .common)
        #expect(decide(.private, cc("must-revalidate") + [cookie], hasCredentials: true) == .principal)
    }

    @Test(arguments: ["*", "Accept, *", ", *", "a b"])
    func varyThatNeverMatchesIsNotStored(value: String) {
        #expect(decide(.private, cc("max-age=60") + [("Vary", value)]) == .forbidden(.varyAny))
    }

    @Test func storesOtherMethodsOnlyIfKeyed() throws {
        let query = try #require(HTTPRequest.Method("QUERY"))
        let report = try #require(HTTPRequest.Method("REPORT"))
        for method in [
            HTTPRequest.Method.head, .post, .put, .delete, .patch, .options, .trace, .connect, query, report,
        ] {
            #expect(decide(.private, cc("max-age=60"), method: method) == .forbidden(.method))
        }
        for method in [HTTPRequest.Method.head, .put, .delete, .patch, .options, .trace, .connect] {
            #expect(decide(.private, cc("max-age=60"), method: method, methodIsKeyed: true) == .forbidden(.method))
        }
        #expect(decide(.private, [], method: query, methodIsKeyed: true) == .common)
        #expect(decide(.private, [], method: .post, methodIsKeyed: true) == .forbidden(.notExplicit))
        #expect(decide(.private, cc("max-age=60"), method: .post, methodIsKeyed: true) == .common)
        #expect(decide(.private, [], method: .post, methodIsKeyed: true, hasExplicitExpiry: true) == .common)
    }
}

/// Stored fields, RFC 9111 §3.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Storing))
struct StoredFieldsTests {
    @Test func storesNoHopByHopOrNominatedFields() {
        let received = response([
            ("Connection", "a, X-B"), ("A", "1"), ("x-b", "2"), ("C", "3"), ("Keep-Alive", "x"),
            ("Proxy-Connection", "x"),
            ("TE", "x"), ("Trailer", "x"), ("Transfer-Encoding", "chunked"), ("Upgrade", "x"),
            ("Proxy-Authenticate", "x"),
            ("Proxy-Authentication-Info", "x"), ("Proxy-Authorization", "x"), ("Set-Cookie", "a"), ("Set-Cookie", "b"),
            ("Content-Length", "5"),
        ])
        let kept = CachePolicy.private.storedFields(of: received)
        #expect(kept.map(\.name.canonicalName) == ["c", "set-cookie", "set-cookie", "content-length"])
    }

    @Test func storesNoFieldsNominatedBesideKeepAlive() {
        let received = response([
            ("Connection", "Keep-Alive"), ("A", "1"), ("Connection", "keep-alive, b"), ("B", "2"), ("Keep-Alive", "x"),
            ("Connection", "c"), ("C", "3"),
        ])
        #expect(CachePolicy.private.storedFields(of: received).map(\.name.canonicalName) == ["a"])
    }

    @Test func connectionCannotRemoveProtectedFields() {
        let received = response([
            ("Connection", "cache-control, vary, age, date, etag, content-type"), ("Cache-Control", "no-cache"),
            ("Vary", "Cookie"), ("Age", "5"), ("Date", noonDate), ("ETag", "\"1\""), ("Content-Type", "a/b"),
        ])
        #expect(CachePolicy.shared.storedFields(of: received).count == 6)
    }

    @Test func sharedCacheStoresNoFieldsNamedByPrivate() {
        let received = response([("Cache-Control", "private=\"X-A, x-b\""), ("X-A", "1"), ("X-B", "2"), ("X-C", "3")])
        #expect(CachePolicy.shared.storedFields(of: received).map(\.name.canonicalName) == ["cache-control", "x-c"])
        #expect(CachePolicy.private.storedFields(of: received).count == 4)
    }

    @Test func servesOneAgeInWholeSecondsAndADate() {
        let head = stored([("Age", "30"), ("Age", "31"), ("Date", noonDate), ("X", "1")])
        let age = CachePolicy.private.currentAge(of: head, at: noon.adding(milliseconds: 2_999))
        let served = CachePolicy.private.servedFields(of: head, age: age)
        #expect(served[values: .age] == ["32"])
        #expect(served[values: .date] == [noonDate])
        let dateless = stored([("X", "1")])
        let other = CachePolicy.private.servedFields(
            of: dateless,
            age: CachePolicy.private.currentAge(of: dateless, at: noon)
        )
        #expect(other[values: .date] == [noonDate])
        #expect(other[values: .age] == ["0"])
    }
}
