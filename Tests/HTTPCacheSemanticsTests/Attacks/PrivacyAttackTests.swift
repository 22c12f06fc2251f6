import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Personal responses that other clients must not get, or that must not be stored at all.
///
/// docs/attacks.md, 21–27, 34. Each test names the mutant, a change of one line, that makes it
/// fail.
@Suite(.timeLimit(.minutes(20)), .tags(.attacks)) struct PrivacyAttackTests {
    // MARK: 21: a suffix or an escaped delimiter makes another key

    /// Mutant: `TargetURI.init?(request:)` cuts the path at `;`, or at `%23`, `%3F`.
    @Test func suffixMakesAnotherKey() throws {
        let suffixes = [
            "", "/x.css", ";x.css", "%3Bx.css", "%0ax.css", "%23x.css", "%3Fx.css", "%2Fx.css", "%00x.css", ".css",
            "?x.css", "!.css",
        ]
        let keys = suffixes.compactMap { wire("/account" + $0) }.map { StoreKey(target: $0) }
        #expect(Set(keys).count == suffixes.count)
        #expect(wire("/static/..%2faccount") != wire("/account"))
        #expect(wire("/static/../account") != wire("/account"))
    }

    // MARK: 22: Authorization, RFC 9111 §3.5

    /// Mutant: `audience` without `directives.mustRevalidate` rejects too much; without the whole
    /// condition, too little.
    @Test(arguments: [
        ("max-age=60", false), ("max-age=60, proxy-revalidate", false), ("max-age=60, no-cache", false),
        ("private=\"x\", max-age=60", false),
        ("max-age=60, public", true), ("s-maxage=60", true), ("max-age=60, must-revalidate", true),
    ])
    func sharesAuthorizedResponseOnlyIfOriginAllowsIt(value: String, isStored: Bool) {
        for own in [("Authorization", "Basic x"), ("authorization", "")] {
            let verdict = CachePolicy.shared.verdict(on: [("Cache-Control", value)], request: [own])
            #expect(verdict == (isStored ? .common : .forbidden(.authorization)))
        }
    }

    /// Mutant: `audience` returns `allowsSharing || directives.mustRevalidate ? .common` in a
    /// private cache.
    @Test func storesPrincipalsResponseForThePrincipal() {
        for value in ["max-age=60", "max-age=60, must-revalidate", "private, public, max-age=60"] {
            #expect(CachePolicy.private.verdict(on: [("Cache-Control", value)], hasCredentials: true) == .principal)
        }
    }

    // MARK: 23: Set-Cookie

    /// Mutant: `storesSetCookie` is `true` by default.
    @Test func sharesNoSetCookieByDefault() {
        for value in ["public, max-age=60", "s-maxage=60", "max-age=60"] {
            let pairs = [("Cache-Control", value), ("Set-Cookie", "session=secret")]
            #expect(CachePolicy.shared.verdict(on: pairs) == .forbidden(.setCookie))
        }
    }

    /// Mutant: `audience` without its line about `setsCookie` in a shared cache.
    @Test func sharesSetCookieOnlyWithPublicOrSMaxage() {
        let policy = CachePolicy(kind: .shared, storesSetCookie: true)
        let cookie = ("Set-Cookie", "session=secret")
        for value in [
            "max-age=60", "max-age=60, must-revalidate", "max-age=60, no-cache=\"set-cookie\"", "max-age=60, immutable",
        ] {
            #expect(policy.verdict(on: [("Cache-Control", value), cookie]) == .forbidden(.setCookie))
        }
        #expect(policy.verdict(on: [("Cache-Control", "public, max-age=60"), cookie]) == .common)
        // A targeted field decides, here as everywhere.
        let targeted = [("Cache-Control", "public, max-age=60"), ("CDN-Cache-Control", "max-age=60"), cookie]
        #expect(policy.verdict(on: targeted) == .forbidden(.setCookie))
    }

    /// Mutant: `updated` appends every field of the update at once.
    @Test func notModifiedAddsNoCookieToSharedResponse() throws {
        let head = stored([("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let update = response([("ETag", "\"1\""), ("Set-Cookie", "session=secret")], status: 304)
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: noon, responseTime: noon))
        #expect(!new.fields.contains(.setCookie))
    }

    /// Mutant: `headUpdate` without its lines about credentials.
    @Test func principalsHeadDoesNotUpdateSharedResponse() {
        let head = stored([("Cache-Control", "max-age=60"), ("ETag", "\"1\"")])
        let update = CachePolicy.shared.headUpdate(
            of: head,
            bodyLength: 5,
            by: response([("X-User", "alice"), ("ETag", "\"1\"")]),
            to: request([("Authorization", "Bearer alice")], method: .head),
            requestTime: noon,
            responseTime: noon
        )
        #expect(update == .unrelated)
    }

    // MARK: 24: requests with Cookie

    /// Mutant: `isForOthers` is `false`.
    @Test(.tags(.rfc9111Stale)) func requestWithCookieNeedsValidationInSharedCache() {
        let head = stored([
            ("Date", noonDate), ("Cache-Control", "max-age=60, stale-while-revalidate=60, stale-if-error=60"),
        ])
        let own = request([("Cookie", "session=a")])
        for seconds in [1, 61] as [Int64] {
            let reuse = CachePolicy.shared.reuse(of: head, for: own, at: noon.adding(milliseconds: seconds * 1000))
            #expect(reuse.decision == .validate(seconds == 1 ? .requestCredentials : .stale))
            #expect(reuse.staleUse == .forbidden(by: "cookie") && !reuse.allowsStaleOnError)
        }
        // The caller's expiry concerns time, not the response's audience.
        var expiring = head
        expiring.explicitExpiry = .distantFuture
        #expect(CachePolicy.shared.reuse(of: expiring, for: own, at: noon).decision == .validate(.requestCredentials))
    }

    /// Mutant: `prohibition` puts `cookie` before the response's own directives.
    @Test(.tags(.rfc9111Stale)) func namesTheResponsesProhibitionBeforeTheCookie() {
        let head = stored([("Date", noonDate), ("Cache-Control", "max-age=60, must-revalidate")])
        let reuse = CachePolicy.shared.reuse(of: head, for: request([("Cookie", "a")]), at: noon)
        #expect(reuse.staleUse == .forbidden(by: "must-revalidate"))
    }

    @Test func cookieValidationIsForwardedAsRequest() {
        #expect(Reuse.ValidationReason.requestCredentials.forwardReason == .request)
    }

    // MARK: 25: secrets

    /// Mutants: `TargetURI.description` is `uri`; `Redaction.query` separates only at `&`;
    /// `uriText` searches for secrets after the first `?` only.
    @Test(arguments: [
        "https://a.example/cb?token=s3cret", "https://a.example/cb?a=1;access_token=s3cret",
        "https://a.example/cb?a[sig]=s3cret",
        "https://a.example/cb?%74oken=s3cret", "https://a.example/cb#access_token=s3cret",
        "https://a.example/cb?a=1#id_token=s3cret", "https://a.example/cb#a=1&access_token=s3cret",
        "https://a.example/cb?a=1?token=s3cret",
        "https://user:s3cret@a.example/", "ftp://a.example/cb#access_token=s3cret",
        "htp://s3cret@a.example/?token=s3cret",
        "https://a.example/%FF?code=s3cret", "https://a.example:x/?password=s3cret#token=s3cret",
    ])
    func nothingShownContainsASecret(text: String) {
        #expect(!Redaction.uriText(text).contains("s3cret"))
        do {
            let target = try TargetURI(text)
            for shown in ["\(target)", String(reflecting: target), "\([target])", target.redacted] {
                #expect(!shown.contains("s3cret"), "\(shown)")
            }
            let key = StoreKey(partition: .principal("u"), target: target)
            for shown in ["\(key)", String(reflecting: key), "\(key.components)"] {
                #expect(!shown.contains("s3cret"), "\(shown)")
            }
        } catch {
            for shown in ["\(error)", String(reflecting: error)] { #expect(!shown.contains("s3cret"), "\(shown)") }
        }
    }

    // MARK: 26: tenants

    /// No principal's name gives the common partition, another principal's keys, or those of
    /// credentials.
    ///
    /// Mutants: `CanonicalWriter.write(partition:)` writes 0 for a principal's kind, or 1 for that
    /// of credentials, or leaves out the name or digest.
    @Test func tenantsShareNoKey() throws {
        let target = try #require(wire("/"))
        let partitions: [StoreKey.Partition] = [
            .common, .principal(""), .principal("\u{0}"), .principal("a"), .principal("b"), .principal("a "),
            .principal("A"),
            .credentials([]), .credentials([0]), .credentials(Array("a".utf8)), .credentials(Array("b".utf8)),
            .job(""), .job("a"), .job("b"),
        ]
        let keys = partitions.map { StoreKey(partition: $0, target: target) }
        #expect(Set(keys.map(\.bytes)).count == partitions.count)
        for (partition, key) in zip(partitions, keys) {
            #expect(key.components.partition == partition)
            #expect(key.inPartition(.common) == keys[0])
        }
    }

    // MARK: 27: no-store and private

    /// Mutants: `refusal` without `noStore`, without `isPrivate`; `forbidsStorage` without
    /// `noStore`.
    @Test(.tags(.rfc9111Stale)) func noStoreAndPrivateAreNeitherStoredNorServed() {
        for value in ["no-store", "max-age=60, No-Store", "public, no-store, s-maxage=60", "no-store=\"x\""] {
            for policy in [CachePolicy.shared, .private] {
                #expect(policy.verdict(on: [("Cache-Control", value)]) == .forbidden(.responseNoStore))
            }
            // A 304 can bring it later.
            let head = stored([("Date", noonDate), ("Cache-Control", "max-age=60"), ("Cache-Control", value)])
            #expect(CachePolicy.shared.decision(head, after: 0) != .fresh)
            #expect(CachePolicy.shared.staleUse(of: head) == .forbidden(by: "no-store"))
        }
        for value in ["private", "Private, max-age=60, public", "private=\"\", max-age=60", "private=x y"] {
            #expect(CachePolicy.shared.verdict(on: [("Cache-Control", value)]) == .forbidden(.privateResponse))
        }
        #expect(
            CachePolicy.shared.verdict(on: [("Cache-Control", "max-age=60")], request: [("Cache-Control", "no-store")])
                == .forbidden(.requestNoStore)
        )
    }

    // MARK: 34: Connection removes no field that is in the key or protects

    /// Mutant: `isProtectedInRequests` without one of its names.
    @Test(arguments: [
        "Authorization", "Cookie", "Host", "Cache-Control", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
        "X-Forwarded-Port",
        "Forwarded", "Via", "Range", "If-None-Match", "If-Range", "If-Match", "Content-Length", "Content-Type",
        "Content-Encoding", "Accept",
        "Accept-Encoding", "Origin", "Pragma", "Expect", "X-Real-IP",
    ])
    func connectionRemovesNoProtectedRequestField(name: String) {
        let kept = CachePolicy.forwardedFields(
            of: fields([("Connection", "close, \(name.lowercased()), x-a"), (name, "v"), ("X-A", "1")])
        )
        #expect(kept.map(\.name.rawName) == [name])
    }

    /// Mutants: `isProtected` without one of its names; `storable` that keeps nominated fields.
    @Test func connectionRemovesOnlyUnprotectedResponseFields() {
        let protecting = [
            "Cache-Control", "CDN-Cache-Control", "Vary", "Age", "Date", "ETag", "Expires", "Last-Modified",
            "Content-Encoding", "Content-Length",
            "Content-Range", "Content-Type",
        ]
        let names = protecting + ["X-Internal"]
        let received = response([("Connection", names.joined(separator: ", "))] + names.map { ($0, "1") })
        #expect(CachePolicy.shared.storedFields(of: received).map(\.name.rawName) == protecting)
        #expect(CachePolicy.shared.forwardedResponseFields(of: received.headerFields).map(\.name.rawName) == protecting)
    }
}
