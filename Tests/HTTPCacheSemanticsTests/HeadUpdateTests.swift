import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite("HEAD, RFC 9111 §4.3.5", .tags(.rfc9111Freshening))
struct HeadUpdateTests {
    private let later = noon.adding(milliseconds: 3_600_000)
    private let modified = "Sun, 01 Mar 2026 11:00:00 GMT"

    private func update(
        _ head: StoredResponseHead,
        _ pairs: [(String, String)],
        status: Int = 200,
        method: HTTPRequest.Method = .head,
        request own: [(String, String)] = [],
        in policy: CachePolicy = .private
    ) -> HeadUpdate {
        policy.headUpdate(
            of: head,
            bodyLength: 5,
            by: response(pairs, status: status),
            to: request(own, method: method),
            requestTime: later,
            responseTime: later
        )
    }

    private enum Kind { case freshen, invalidate, unrelated }

    private func kind(_ update: HeadUpdate) -> Kind {
        switch update {
        case .freshen: .freshen
        case .invalidate: .invalidate
        case .unrelated: .unrelated
        }
    }

    @Test func aMatchingHeadUpdatesAndAddsFieldsAndKeepsTheOthers() throws {
        let head = stored(
            [
                ("Date", noonDate), ("ETag", "\"1\""), ("Cache-Control", "max-age=1"), ("A", "1"),
                ("Content-Encoding", "gzip"),
            ],
            isInvalidated: true
        )
        guard
            case .freshen(let new) = update(
                head,
                [
                    ("ETag", "\"1\""), ("Cache-Control", "max-age=60"), ("B", "2"), ("Content-Length", "5"),
                    ("Content-Encoding", "br"),
                ]
            )
        else {
            Issue.record("not freshened")
            return
        }
        #expect(new.fields[.cacheControl] == "max-age=60" && new.fields[.contentEncoding] == "gzip")
        #expect(
            new.fields.contains { $0.name.canonicalName == "a" } && new.fields.contains { $0.name.canonicalName == "b" }
        )
        #expect(!new.isInvalidated && new.responseTime == later && new.requestMethod == .get)
        #expect(CachePolicy.private.reuse(of: new, for: request(), at: later).decision == .fresh)
    }

    @Test func validatorsAndLengthReceivedMustBeTheStoredOnes() {
        let both = stored([("ETag", "\"1\""), ("Last-Modified", modified)])
        let table: [([(String, String)], Kind)] = [
            ([("ETag", "\"1\"")], .freshen), ([("ETag", "\"2\"")], .invalidate), ([("ETag", "W/\"1\"")], .freshen),
            ([("ETag", "1")], .invalidate), ([("Last-Modified", modified)], .freshen),
            ([("Last-Modified", noonDate)], .invalidate), ([("Last-Modified", "yesterday")], .invalidate),
            ([("ETag", "\"1\""), ("Last-Modified", noonDate)], .invalidate),
            ([("Content-Length", "5")], .freshen), ([("Content-Length", "5, 5")], .freshen),
            ([("Content-Length", "6")], .invalidate), ([("Content-Length", "5, 6")], .invalidate),
            ([("Content-Length", "+5")], .invalidate), ([("Content-Length", "")], .invalidate),
            ([("Content-Length", "99999999999999999999")], .invalidate),
            ([("ETag", "\"1\""), ("Content-Length", "6")], .invalidate),
        ]
        for (pairs, expected) in table { #expect(kind(update(both, pairs)) == expected, "\(pairs)") }
    }

    @Test func aValidatorThatTheStoredResponseLacksContradictsIt() {
        #expect(update(stored([]), [("ETag", "\"1\"")]) == .invalidate)
        #expect(update(stored([]), [("Last-Modified", modified)]) == .invalidate)
        #expect(update(stored([("ETag", "W/\"1\"")]), [("ETag", "\"1\"")]) == .invalidate)
    }

    @Test func oneThatBringsNothingToCompareContradictsNothing() {
        #expect(kind(update(stored([("ETag", "\"1\"")]), [("Cache-Control", "max-age=60")])) == .freshen)
    }

    @Test func otherStatusesAndMethodsSayNothing() {
        #expect(update(stored([]), [], status: 410) == .unrelated)
        #expect(update(stored([]), [], status: 304) == .unrelated)
        #expect(update(stored([]), [], method: .get) == .unrelated)
        #expect(update(stored([], status: 404), []) == .invalidate)
        #expect(
            update(stored([("ETag", "\"1\"")], status: 206), [("ETag", "\"1\""), ("Content-Length", "9")]) == .unrelated
        )
        #expect(update(stored([("ETag", "\"1\"")], status: 206), [("ETag", "\"2\"")]) == .invalidate)
    }

    @Test func whatWasSaidToOnePrincipalStaysOutOfASharedCache() {
        for own in [("Authorization", "Bearer x"), ("Cookie", "a=1")] {
            #expect(update(stored([]), [("X", "secret")], request: [own], in: .shared) == .unrelated)
            #expect(kind(update(stored([]), [("Cache-Control", "public")], request: [own], in: .shared)) == .freshen)
            #expect(kind(update(stored([]), [], request: [own])) == .freshen)
        }
    }
}
