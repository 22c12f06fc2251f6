import HTTPCacheSemantics
import HTTPTypes
import Testing

/// Validation, RFC 9111 §4.3.1.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Validation))
struct ValidationRequestTests {
    private let lastModified = "Sun, 01 Mar 2026 11:00:00 GMT"

    @Test func sendsTheStoredValidatorsUnchanged() throws {
        let head = stored([("ETag", "W/\"1\""), ("Last-Modified", lastModified)])
        let sent = try #require(CachePolicy.private.validationRequest(for: head, request: request([("Abc", "1")])))
        #expect(sent.headerFields[values: .ifNoneMatch] == ["W/\"1\""])
        #expect(sent.headerFields[values: .ifModifiedSince] == [lastModified])
        #expect(sent.headerFields.count == 3)
        #expect(sent.path == "/x" && sent.method == .get)
    }

    @Test func keepsCallersTagsAndDropsItsDateAndRange() throws {
        let own = request([
            ("If-None-Match", "\"x\""), ("If-None-Match", "\"y\""), ("If-Modified-Since", noonDate),
            ("Range", "bytes=0-1"),
            ("If-Range", "\"x\""), ("If-Match", "\"x\""), ("If-Unmodified-Since", noonDate), ("Accept", "a/b"),
        ])
        let sent = try #require(CachePolicy.private.validationRequest(for: stored([("ETag", "\"1\"")]), request: own))
        #expect(sent.headerFields[values: .ifNoneMatch] == ["\"1\", \"x\", \"y\""])
        #expect(!sent.headerFields.contains(.ifModifiedSince))
        #expect(!sent.headerFields.contains(.range) && !sent.headerFields.contains(.ifRange))
        #expect(sent.headerFields.contains(.ifMatch) && sent.headerFields.contains(.ifUnmodifiedSince))
        #expect(sent.headerFields.contains(.accept))
    }

    /// Otherwise, the origin would send the whole representation if it changed.
    @Test func keepsTheRangeForAStoredPart() throws {
        let part = stored([("ETag", "\"1\""), ("Content-Range", "bytes 0-4/10")], status: 206)
        for method in [HTTPRequest.Method.get, .head] {
            let own = request([("Range", "bytes=0-1"), ("If-Range", "\"x\"")], method: method)
            let sent = try #require(CachePolicy.private.validationRequest(for: part, request: own))
            #expect(sent.headerFields[values: .ifNoneMatch] == ["\"1\""])
            #expect(sent.headerFields[values: .range] == (method == .get ? ["bytes=0-1"] : []))
            #expect(sent.headerFields[values: .ifRange] == (method == .get ? ["\"x\""] : []))
        }
    }

    @Test func sendsCallersTagsOnlyBesideAStoredTag() throws {
        let own = request([("If-None-Match", "*"), ("If-None-Match", "w/\"bad\", W/\"1\" ,, \"x,y\", W/\"2\"")])
        let sent = try #require(CachePolicy.private.validationRequest(for: stored([("ETag", "\"1\"")]), request: own))
        #expect(sent.headerFields[values: .ifNoneMatch] == ["\"1\", \"x,y\", W/\"2\""])
        let dated = try #require(
            CachePolicy.private.validationRequest(for: stored([("Last-Modified", lastModified)]), request: own)
        )
        #expect(!dated.headerFields.contains(.ifNoneMatch))
        #expect(dated.headerFields[values: .ifModifiedSince] == [lastModified])
    }

    @Test func recognizesA304ForTheCallersCopy() {
        let own = request([("If-None-Match", "\"x\", W/\"y\"")])
        let policy = CachePolicy.private
        #expect(policy.confirmsCallersCopy(response([("ETag", "\"x\"")], status: 304), to: own))
        #expect(policy.confirmsCallersCopy(response([("ETag", "\"y\"")], status: 304), to: own))
        #expect(!policy.confirmsCallersCopy(response([("ETag", "\"z\"")], status: 304), to: own))
        #expect(!policy.confirmsCallersCopy(response([], status: 304), to: own))
        #expect(!policy.confirmsCallersCopy(response([("ETag", "\"x\"")], status: 200), to: own))
        let any = request([("If-None-Match", "*")])
        #expect(!policy.confirmsCallersCopy(response([("ETag", "\"x\"")], status: 304), to: any))
    }

    @Test(arguments: [[], [("ETag", "unquoted")], [("Last-Modified", "yesterday")], [("Date", noonDate)]])
    func makesNoRequestWithoutAValidator(pairs: [(String, String)]) {
        #expect(CachePolicy.private.validationRequest(for: stored(pairs), request: request()) == nil)
    }

    @Test(arguments: ["If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"])
    func fiveFieldsMakeARequestConditional(name: String) {
        #expect(CachePolicy.private.isConditional(request([(name, "x")])))
        #expect(!CachePolicy.private.isConditional(request([("Range", "bytes=0-1"), ("Accept", "x")])))
    }
}

/// Received conditions, RFC 9111 §4.3.2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9110Conditions, .rfc9111Validation))
struct ReceivedConditionTests {
    private let old = "Sun, 01 Mar 2026 10:00:00 GMT"
    private let modified = "Sun, 01 Mar 2026 11:00:00 GMT"

    private func isNotModified(
        _ head: [(String, String)],
        _ conditions: [(String, String)],
        status: Int = 200,
        method: HTTPRequest.Method = .get
    ) -> Bool {
        CachePolicy.private.isNotModified(stored(head, status: status), for: request(conditions, method: method))
    }

    @Test func ifNoneMatchComparesWeakly() {
        #expect(isNotModified([("ETag", "\"1\"")], [("If-None-Match", "W/\"1\"")]))
        #expect(isNotModified([("ETag", "W/\"1\"")], [("If-None-Match", "\"0\", \"1\"")]))
        #expect(isNotModified([], [("If-None-Match", "*")]))
        #expect(!isNotModified([("ETag", "\"1\"")], [("If-None-Match", "\"2\"")]))
        #expect(!isNotModified([], [("If-None-Match", "\"1\"")]))
    }

    @Test func ifNoneMatchPrecedesIfModifiedSince() {
        let head = [("ETag", "\"1\""), ("Last-Modified", modified)]
        #expect(!isNotModified(head, [("If-None-Match", "\"2\""), ("If-Modified-Since", noonDate)]))
        #expect(isNotModified(head, [("If-None-Match", "\"1\""), ("If-Modified-Since", old)]))
    }

    @Test func ifModifiedSinceUsesLastModifiedThenDateThenReceipt() {
        #expect(isNotModified([("Last-Modified", modified)], [("If-Modified-Since", modified)]))
        #expect(isNotModified([("Last-Modified", modified)], [("If-Modified-Since", noonDate)]))
        #expect(!isNotModified([("Last-Modified", modified)], [("If-Modified-Since", old)]))
        #expect(isNotModified([("Date", modified)], [("If-Modified-Since", modified)]))
        #expect(!isNotModified([("Date", modified)], [("If-Modified-Since", old)]))
        #expect(isNotModified([], [("If-Modified-Since", noonDate)]))
        #expect(!isNotModified([], [("If-Modified-Since", modified)]))
        #expect(isNotModified([("Last-Modified", modified)], [("If-Modified-Since", "Sunday, 01-Mar-26 11:00:00 GMT")]))
    }

    @Test func ignoresInvalidAndInapplicableConditions() {
        let head = [("ETag", "\"1\""), ("Last-Modified", modified)]
        #expect(!isNotModified(head, [("If-Modified-Since", "0")]))
        #expect(!isNotModified(head, [("If-Modified-Since", noonDate), ("If-Modified-Since", noonDate)]))
        #expect(!isNotModified(head, [("If-None-Match", "\"1\"")], method: .post))
        #expect(!isNotModified(head, [("If-None-Match", "\"1\"")], status: 404))
        #expect(isNotModified(head, [("If-None-Match", "\"1\"")], method: .head))
        #expect(!isNotModified(head, []))
    }
}

/// Freshening, RFC 9111 §4.3.4 and §3.2.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Freshening))
struct FresheningTests {
    private let policy = CachePolicy.private
    private let later = noon.adding(milliseconds: 3_600_000)
    private let laterDate = "Sun, 01 Mar 2026 13:00:00 GMT"

    private func freshen(
        _ head: StoredResponseHead,
        _ pairs: [(String, String)],
        status: Int = 304,
        request: HTTPRequest? = nil
    ) -> StoredResponseHead? {
        policy.freshened(
            head,
            by: response(pairs, status: status),
            requestTime: later,
            responseTime: later.adding(milliseconds: 50),
            request: request
        )
    }

    @Test func updatesFieldsAndReplacesAllLinesOfAName() throws {
        let head = stored(
            [
                ("Date", noonDate), ("ETag", "\"1\""), ("Cache-Control", "max-age=1"), ("Cache-Control", "public"),
                ("X-Old", "1"),
                ("Set-Cookie", "a"), ("Set-Cookie", "b"), ("Content-Type", "text/plain"),
            ],
            isInvalidated: true
        )
        let new = try #require(
            freshen(
                head,
                [
                    ("Date", laterDate), ("ETag", "\"1\""), ("cache-control", "max-age=60"), ("X-New", "2"),
                    ("Set-Cookie", "c"),
                    ("Content-Type", "text/html"),
                ]
            )
        )
        #expect(new.fields[values: .cacheControl] == ["max-age=60"])
        #expect(new.fields[values: .setCookie] == ["c"])
        #expect(new.fields[values: .date] == [laterDate])
        #expect(new.fields[.contentType] == "text/html")
        #expect(
            new.fields.contains { $0.name.rawName == "X-Old" } && new.fields.contains { $0.name.rawName == "X-New" }
        )
        #expect(new.requestTime == later && new.responseTime == later.adding(milliseconds: 50))
        #expect(!new.isInvalidated)
        #expect(new.status == 200)
        #expect(policy.freshness(of: new, at: later.adding(milliseconds: 1_000)).isFresh)
    }

    @Test func keepsFieldsThatDescribeTheStoredBytes() throws {
        let head = stored([("ETag", "\"1\""), ("Content-Length", "5"), ("Content-Encoding", "gzip")])
        let new = try #require(
            freshen(
                head,
                [
                    ("ETag", "\"1\""), ("Content-Length", "0"), ("Content-Encoding", "br"),
                    ("Content-Range", "bytes 0-1/2"),
                    ("Transfer-Encoding", "chunked"), ("Connection", "X-A"), ("X-A", "1"),
                ]
            )
        )
        #expect(new.fields[.contentLength] == "5")
        #expect(new.fields[.contentEncoding] == "gzip")
        #expect(!new.fields.contains(.contentRange) && !new.fields.contains(.transferEncoding))
        #expect(!new.fields.contains { $0.name.canonicalName == "x-a" })
    }

    @Test func notModifiedWithoutDateOrAgeResetsTheAge() throws {
        let head = stored([("Date", noonDate), ("Age", "50"), ("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let new = try #require(freshen(head, [("ETag", "\"1\"")]))
        #expect(new.fields[values: .date] == [laterDate])
        #expect(!new.fields.contains(.age))
        #expect(policy.currentAge(of: new, at: new.responseTime).milliseconds == 50)
        let aged = try #require(freshen(head, [("ETag", "\"1\""), ("Age", "7")]))
        #expect(aged.fields[values: .age] == ["7"])
    }

    @Test(
        arguments: [
            ([("ETag", "\"1\"")], [("ETag", "\"1\"")], true), ([("ETag", "\"1\"")], [("ETag", "\"2\"")], false),
            ([("ETag", "W/\"1\"")], [("ETag", "W/\"1\"")], true), ([("ETag", "W/\"1\"")], [("ETag", "W/\"2\"")], false),
            ([("ETag", "\"1\"")], [("ETag", "W/\"1\"")], true),
            // A strong validator names one representation; a weak or absent stored one is not that.
            ([("ETag", "W/\"1\"")], [("ETag", "\"1\"")], false), ([], [("ETag", "\"1\"")], false),
            ([("Last-Modified", noonDate)], [("Last-Modified", noonDate)], true),
            ([("Last-Modified", noonDate)], [("Last-Modified", "Sun, 01 Mar 2026 11:00:00 GMT")], false),
            ([("Last-Modified", noonDate)], [("Last-Modified", noonDate), ("ETag", "W/\"1\"")], true),
            ([("Last-Modified", noonDate)], [("ETag", "W/\"1\"")], false),
            // A validator without a stored counterpart confirms nothing.
            ([("ETag", "\"1\"")], [("Last-Modified", noonDate)], false), ([], [("Last-Modified", noonDate)], false),
            ([("ETag", "\"1\"")], [("ETag", "1")], false), ([("ETag", "\"1\"")], [("Last-Modified", "x")], false),
            ([("Last-Modified", noonDate)], [("Last-Modified", noonDate), ("ETag", "1")], true),
            // Malformed, but the same.
            ([("ETag", "1"), ("Last-Modified", noonDate)], [("ETag", "1")], true),
            // Without a validator it can only concern the response whose validators were sent.
            ([("ETag", "\"1\"")], [], true), ([("Last-Modified", noonDate)], [], true), ([], [], true),
        ] as [([(String, String)], [(String, String)], Bool)]
    )
    func freshensOnlyWithMatchingValidators(head: [(String, String)], update: [(String, String)], isAbout: Bool) {
        #expect((freshen(stored(head), update) != nil) == isAbout)
    }

    /// The caller's tags were sent too, so a 304 without a tag may concern the caller's copy.
    @Test func rejects304WithoutValidatorAfterSendingCallersTags() {
        let head = stored([("ETag", "\"1\""), ("Last-Modified", noonDate)])
        let own = request([("If-None-Match", "\"x\"")])
        #expect(freshen(head, [], request: own) == nil)
        #expect(freshen(head, [("Last-Modified", noonDate)], request: own) != nil)
        #expect(freshen(head, [("ETag", "\"1\"")], request: own) != nil)
        #expect(freshen(head, [("ETag", "\"x\"")], request: own) == nil)
        #expect(freshen(head, [], request: request([("If-None-Match", "W/\"1\", *")])) != nil)
        #expect(freshen(stored([("Last-Modified", noonDate)]), [], request: own) != nil)
    }

    @Test func sharedCacheStoresCookieOf304OnlyIfShareable() throws {
        func cookies(_ policy: CachePolicy, _ head: [(String, String)], _ update: [(String, String)]) throws -> [String]
        {
            let new = try #require(
                policy.freshened(
                    stored(head + [("ETag", "\"1\""), ("Set-Cookie", "old")]),
                    by: response(update + [("Set-Cookie", "a"), ("Set-Cookie", "b")], status: 304),
                    requestTime: later,
                    responseTime: later
                )
            )
            return new.fields[values: .setCookie]
        }
        #expect(try cookies(.private, [], []) == ["a", "b"])
        #expect(try cookies(.shared, [], []) == ["old"])
        #expect(try cookies(.shared, [("Cache-Control", "public")], []) == ["old"])
        let told = CachePolicy(kind: .shared, storesSetCookie: true)
        #expect(try cookies(told, [("Cache-Control", "public")], []) == ["a", "b"])
        #expect(try cookies(told, [], [("Cache-Control", "s-maxage=1")]) == ["a", "b"])
        #expect(try cookies(told, [("Cache-Control", "public")], [("Cache-Control", "max-age=1")]) == ["old"])
    }

    @Test(.tags(.rfc9111Stale)) func privateInA304EndsReuseInASharedCache() throws {
        let head = stored([("Date", noonDate), ("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let update = response([("Cache-Control", "private, max-age=60")], status: 304)
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: later, responseTime: later))
        #expect(CachePolicy.shared.reuse(of: new, for: request(), at: later).decision == .validate(.responseNoCache))
        #expect(CachePolicy.shared.staleUse(of: new) == .forbidden(by: "private"))
        #expect(policy.reuse(of: new, for: request(), at: later).decision == .fresh)
    }

    @Test func onlyA304Freshens() {
        #expect(freshen(stored([]), [], status: 200) == nil)
    }

    @Test func varyChangesOnlyTogetherWithTheSelectingFields() throws {
        let head = stored([("ETag", "\"1\""), ("Vary", "Accept")], selecting: [("Accept", "a/b")])
        let without = try #require(freshen(head, [("Vary", "Accept-Language")]))
        #expect(without.fields[.vary] == "Accept" && without.selectingFields == head.selectingFields)
        let presented = request([("Accept", "a/b"), ("Accept-Language", "de")])
        let with = try #require(freshen(head, [("Vary", "Accept-Language")], request: presented))
        #expect(with.fields[.vary] == "Accept-Language")
        #expect(with.selectingFields == fields([("Accept-Language", "de")]))
        #expect(policy.matchesVariant(with, presented))
    }

    @Test(.tags(.rfc9111Stale)) func noStoreInA304EndsReuseWithoutValidation() throws {
        let head = stored([("Date", noonDate), ("ETag", "\"1\""), ("Cache-Control", "max-age=60")])
        let new = try #require(freshen(head, [("Cache-Control", "no-store, max-age=60")]))
        #expect(policy.reuse(of: new, for: request(), at: later).decision == .validate(.responseNoCache))
        #expect(policy.staleUse(of: new) == .forbidden(by: "no-store"))
    }
}
