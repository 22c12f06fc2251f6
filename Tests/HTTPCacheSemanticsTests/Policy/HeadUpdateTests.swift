import HTTPCacheSemantics
import HTTPTypes
import Testing

/// HEAD, RFC 9111 §4.3.5.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9111Freshening))
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

    @Test func matchingHeadUpdatesFieldsAndKeepsTheOthers() throws {
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

    @Test func validatorsAndLengthMustBeTheStoredOnes() {
        let both = stored([("ETag", "\"1\""), ("Last-Modified", modified)])
        let table: [([(String, String)], Kind)] = [
            ([("ETag", "\"1\"")], .freshen), ([("ETag", "\"2\"")], .invalidate), ([("ETag", "W/\"1\"")], .freshen),
            ([("ETag", "1")], .invalidate), ([("Last-Modified", modified)], .freshen),
            ([("Last-Modified", noonDate)], .invalidate), ([("Last-Modified", "yesterday")], .invalidate),
            ([("ETag", "\"1\""), ("Last-Modified", noonDate)], .invalidate),
            ([("Content-Length", "5")], .unrelated), ([("Content-Length", "5, 5")], .unrelated),
            ([("ETag", "\"1\""), ("Content-Length", "5")], .freshen),
            ([("Content-Length", "6")], .invalidate), ([("Content-Length", "5, 6")], .invalidate),
            ([("Content-Length", "+5")], .invalidate), ([("Content-Length", "")], .invalidate),
            ([("Content-Length", "99999999999999999999")], .invalidate),
            ([("ETag", "\"1\""), ("Content-Length", "6")], .invalidate),
        ]
        for (pairs, expected) in table { #expect(kind(update(both, pairs)) == expected, "\(pairs)") }
    }

    @Test func unknownValidatorInvalidates() {
        #expect(update(stored([]), [("ETag", "\"1\"")]) == .invalidate)
        #expect(update(stored([]), [("Last-Modified", modified)]) == .invalidate)
        #expect(update(stored([("ETag", "W/\"1\"")]), [("ETag", "\"1\"")]) == .invalidate)
    }

    @Test func headWithoutValidatorsChangesNothing() {
        for validators in [[], [("ETag", "\"1\"")], [("Last-Modified", modified)]] {
            for isInvalidated in [false, true] {
                let head = stored(validators + [("Cache-Control", "max-age=1")], isInvalidated: isInvalidated)
                #expect(update(head, [("Cache-Control", "max-age=60"), ("Content-Length", "5")]) == .unrelated)
            }
        }
    }

    /// Without validators, the fields that describe a representation distinguish it.
    @Test(arguments: [
        ("Content-Type", "text/plain", "text/html"), ("Content-Encoding", "gzip", "br"),
        ("Content-Language", "de", "en"), ("Content-Location", "/a", "/b"),
        ("Repr-Digest", "sha-256=:A:", "sha-256=:B:"),
    ])
    func anotherRepresentationInvalidates(name: String, old: String, new: String) {
        #expect(update(stored([(name, old)]), [(name, new)]) == .invalidate)
        #expect(update(stored([]), [(name, new)]) == .invalidate)
        #expect(update(stored([(name, old)]), [(name, old)]) == .unrelated)
        #expect(update(stored([(name, old)]), []) == .unrelated, "HEAD may leave it out. RFC 9110 §9.3.2")
        // The validators confirm the representation: its description is updated as far as allowed.
        let tag = ("ETag", "\"1\"")
        #expect(kind(update(stored([tag, (name, old)]), [tag, (name, new)])) == .freshen)
    }

    @Test func onlyA200ToHeadUpdatesAStored200() {
        #expect(update(stored([]), [], status: 410) == .unrelated)
        #expect(update(stored([]), [], status: 304) == .unrelated)
        #expect(update(stored([]), [], method: .get) == .unrelated)
        #expect(update(stored([], status: 404), []) == .invalidate)
        #expect(
            update(stored([("ETag", "\"1\"")], status: 206), [("ETag", "\"1\""), ("Content-Length", "9")]) == .unrelated
        )
        let part = stored([("ETag", "\"1\""), ("Content-Range", "bytes 0-4/9")], status: 206)
        #expect(update(part, [("ETag", "\"1\""), ("Content-Length", "9")]) == .unrelated)
        #expect(update(part, [("ETag", "\"1\""), ("Content-Length", "10")]) == .invalidate)
        #expect(update(stored([("ETag", "\"1\"")], status: 206), [("ETag", "\"2\"")]) == .invalidate)
    }

    @Test func principalsHeadStaysOutOfASharedCache() {
        for own in [("Authorization", "Bearer x"), ("Cookie", "a=1")] {
            let tag = ("ETag", "\"1\"")
            let head = stored([tag])
            #expect(update(head, [tag, ("X", "secret")], request: [own], in: .shared) == .unrelated)
            #expect(kind(update(head, [tag, ("Cache-Control", "public")], request: [own], in: .shared)) == .freshen)
            #expect(kind(update(head, [tag], request: [own])) == .freshen)
        }
    }
}
