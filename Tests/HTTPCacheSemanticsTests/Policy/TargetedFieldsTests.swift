import HTTPTypes
import HoldfastTesting
import Testing

@testable import HTTPCacheSemantics

/// Targeted fields, RFC 9213.
@Suite(.timeLimit(.minutes(20)), .tags(.rfc9213))
struct TargetedFieldsTests {
    private func cdn(_ value: String, _ others: (String, String)...) -> [(String, String)] {
        [("CDN-Cache-Control", value)] + others
    }

    private func storability(_ policy: CachePolicy, _ pairs: [(String, String)], status: Int = 200) -> Storability {
        policy.storability(of: response(pairs, status: status), to: request(), hasCredentials: false)
    }

    @Test func sharedCacheObeysCDNCacheControlByDefault() {
        #expect(CachePolicy(kind: .shared).targetedFields == ["cdn-cache-control"])
        #expect(CachePolicy(kind: .private).targetedFields.isEmpty)
        #expect(CachePolicy(kind: .shared, targetedFields: []).targetedFields.isEmpty)
        #expect(
            CachePolicy(kind: .private, targetedFields: ["Holdfast-Cache-Control"]).targetedFields == [
                "holdfast-cache-control"
            ]
        )
    }

    @Test func firstValidListedFieldDecidesAlone() {
        let policy = CachePolicy(kind: .private, targetedFields: ["Mine-Cache-Control", "CDN-Cache-Control"])
        let mine = ("Mine-Cache-Control", "max-age=1")
        #expect(policy.lifetimeSeconds(cdn("max-age=2", mine, ("Cache-Control", "max-age=3"))) == 1)
        #expect(
            policy.lifetimeSeconds(cdn("max-age=2", ("Mine-Cache-Control", "?"), ("Cache-Control", "max-age=3"))) == 2
        )
        #expect(policy.lifetimeSeconds(cdn("=", ("Mine-Cache-Control", ""), ("Cache-Control", "max-age=3"))) == 3)
        // The whole field decides, not directive by directive.
        #expect(policy.lifetimeSeconds(cdn("max-age=2", ("Mine-Cache-Control", "must-revalidate"))) == 0)
    }

    @Test func ignoresUnlistedFields() {
        let policy = CachePolicy(kind: .shared, targetedFields: [])
        #expect(policy.lifetimeSeconds(cdn("max-age=2", ("Cache-Control", "max-age=3"))) == 3)
    }

    @Test func storingReadsTheTargetedField() {
        #expect(storability(.shared, cdn("no-store", ("Cache-Control", "max-age=60"))) == .forbidden(.responseNoStore))
        #expect(storability(.shared, cdn("private", ("Cache-Control", "max-age=60"))) == .forbidden(.privateResponse))
        #expect(storability(.shared, cdn("max-age=60", ("Cache-Control", "no-store, private"))) == .common)
        #expect(storability(.private, cdn("max-age=60", ("Cache-Control", "no-store"))) == .forbidden(.responseNoStore))
        #expect(
            storability(CachePolicy(kind: .shared, storesSetCookie: true), cdn("s-maxage=60", ("Set-Cookie", "a=b")))
                == .common
        )
        #expect(
            storability(.shared, cdn("max-age=60", ("Cache-Control", "public"), ("Set-Cookie", "a=b")))
                == .forbidden(.setCookie)
        )
    }

    @Test func targetedFieldOverridesExpires() {
        let expires = ("Expires", "Sun, 01 Mar 2026 13:00:00 GMT")
        #expect(storability(.shared, cdn("must-revalidate", expires), status: 403) == .forbidden(.notExplicit))
        #expect(storability(.shared, cdn("&", expires), status: 403) == .common)
    }

    @Test func storesNoFieldsThatItNamesAsPrivate() {
        let received = response(cdn("private=\"X-A\", max-age=60", ("X-A", "1"), ("X-B", "2")))
        #expect(
            CachePolicy.shared.storedFields(of: received).map(\.name.canonicalName) == ["cdn-cache-control", "x-b"]
        )
    }

    @Test func isStoredAndForwardedDespiteConnection() {
        let policy = CachePolicy(kind: .shared, targetedFields: ["Mine-Cache-Control"])
        let received = response([("Connection", "mine-cache-control"), ("Mine-Cache-Control", "max-age=60")])
        #expect(policy.storedFields(of: received).count == 1)
        #expect(policy.forwardedResponseFields(of: received.headerFields).count == 1)
        #expect(CachePolicy.shared.storedFields(of: received).isEmpty)
    }

    @Test func notModifiedFreshensByTheTargetedField() throws {
        let head = stored(cdn("max-age=1", ("ETag", "\"1\""), ("Date", noonDate)))
        let later = noon.adding(milliseconds: 10_000)
        let update = response(
            [("ETag", "\"1\""), ("CDN-Cache-Control", "max-age=60"), ("Cache-Control", "no-store")],
            status: 304
        )
        let new = try #require(CachePolicy.shared.freshened(head, by: update, requestTime: later, responseTime: later))
        #expect(CachePolicy.shared.reuse(of: new, for: request(), at: later).decision == .fresh)
    }

    @Test func tooLongFieldIsMalformed() {
        let long = "max-age=60, a=\"" + String(repeating: "x", count: ResponseDirectives.maximumTargetedLength) + "\""
        #expect(CachePolicy.shared.lifetimeSeconds(cdn(long, ("Cache-Control", "max-age=3"))) == 3)
        let half = "a=\"" + String(repeating: "x", count: 2100) + "\""
        let twice = [("CDN-Cache-Control", half), ("CDN-Cache-Control", half), ("Cache-Control", "max-age=3")]
        #expect(CachePolicy.shared.lifetimeSeconds(twice) == 3)
        #expect(CachePolicy.shared.lifetimeSeconds([twice[0], twice[2]]) == 0)
    }

    /// Every field that the quick reader accepts has the same meaning for the general parser.
    @Test func quickReaderAgreesWithTheGeneralParser() {
        var generator = SeededRandom(seed: 9213)
        let pieces = [
            "max-age", "no-cache", "private", "no-store", "s-maxage", "public", "x", "*a", "=", "=60", "=?0", "=?1",
            "=\"a, b\"",
            "=\"\"", "=tok/en:x", "=-1", "=1.5", "=0099", "=999999999999999", "=9999999999999999", "=(1 2)", "=:YQ==:",
            "=\"a\\\"b\"",
            ";p=1", ", ", ",", " ", "\t", "A", "é", "\"", "?", "_", "-", "=@1", "=%\"x\"",
        ]
        var quick = 0
        for _ in 0..<20_000 {
            var text = ""
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                text += pieces.randomElement(using: &generator) ?? ""
            }
            text.withUTF8 { bytes in
                let general = ResponseDirectives(generalDictionary: bytes)
                if let simple = ResponseDirectives(simpleDictionary: bytes) {
                    quick += 1
                    #expect(simple == general, "'\(String(decoding: bytes, as: UTF8.self))'")
                }
            }
        }
        #expect(quick > 1000)
    }

    @Test(arguments: [
        "max-age=60", "max-age=60, stale-while-revalidate=30, must-revalidate", "no-cache=\"a\", max-age=0", "private",
        "a=b , c=?1",
    ])
    func quickReaderParsesUsualFields(value: String) {
        var value = value
        value.withUTF8 { #expect(ResponseDirectives(simpleDictionary: $0) != nil) }
    }
}
