import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import Holdfast

/// Which cookies a request gets, and how many a jar keeps. RFC 6265bis §5.7, §5.8, §6.1
@Suite(.timeLimit(.minutes(20))) struct CookieStoreTests {
    private static let now = Timestamp(seconds: 1_767_225_600)

    /// Takes fields from an origin, one after the other.
    private func store(_ origin: String, _ fields: String...) throws -> CookieStore {
        var store = CookieStore()
        try take(fields, origin, &store)
        return store
    }

    private func take(_ fields: [String], _ origin: String, _ store: inout CookieStore) throws {
        let target = try TargetURI(origin)
        for field in fields {
            guard let cookie = Cookie(field, from: target, at: Self.now) else { continue }
            store.take(cookie, from: target, at: Self.now)
        }
    }

    private func field(_ store: CookieStore, _ target: String, after seconds: Int64 = 0) throws -> String? {
        var store = store
        return store.field(for: try TargetURI(target), at: Self.now.adding(milliseconds: seconds * 1000))
    }

    /// The targets that get a cookie, of all these.
    @Test(
        arguments: [
            ("a=b; Domain=a.example", ["https://a.example/", "https://www.a.example/", "https://y.x.a.example/z"]),
            ("a=b", ["https://www.a.example/"]),
            ("a=b; Path=/z; Domain=a.example", ["https://y.x.a.example/z"]),
            ("a=b; Path=/login", ["https://www.a.example/login", "http://www.a.example:81/login/x?q"]),
            ("a=b; Path=/login/", ["http://www.a.example:81/login/x?q"]),
            ("a=b; Path=/login; Secure", ["https://www.a.example/login"]),
        ] as [(String, Set<String>)]
    )
    func cookieIsSentToItsHostsAndPathsOnly(_ cookie: String, _ receivers: Set<String>) throws {
        let store = try store("https://www.a.example/", cookie)
        let isForAllPaths = !cookie.contains("Path")
        let others: Set = [
            "https://example/", "https://aa.example/", "https://wwwa.example/", "https://127.0.0.1/", "https://[::1]/",
            "https://www.a.example.b.example/", "https://b.example/www.a.example",
        ]
        let paths: Set = [
            "https://www.a.example/login", "http://www.a.example:81/login/x?q", "https://www.a.example/loginx",
            "https://www.a.example/Login", "https://www.a.example/", "https://www.a.example//login",
        ]
        let hosts: Set = ["https://a.example/", "https://www.a.example/", "https://y.x.a.example/z"]
        for target in others.union(hosts) {
            #expect((try field(store, target) == "a=b") == receivers.contains(target), "\(target)")
        }
        for target in paths {
            #expect((try field(store, target) == "a=b") == (isForAllPaths || receivers.contains(target)), "\(target)")
        }
    }

    @Test func longerPathsComeFirstThenOlderCookies() throws {
        let store = try store("https://a.example/x/y", "a=1; Path=/", "b=2; Path=/x", "c=3; Path=/", "d=4; Path=/x/y")
        #expect(try field(store, "https://a.example/x/y") == "d=4; b=2; a=1; c=3")
        #expect(try field(store, "https://a.example/") == "a=1; c=3")
    }

    @Test func laterCookieReplacesTheEarlierAndKeepsItsPlace() throws {
        let store = try store("https://a.example/", "a=1", "b=2", "a=3", "A=4", "a=5; Domain=a.example", "a=6; Path=/x")
        #expect(try field(store, "https://a.example/") == "a=3; b=2; A=4; a=5")
        #expect(store.count == 5)
    }

    @Test func expiredCookieIsNeitherSentNorKept() throws {
        var store = try store("https://a.example/", "a=1; Max-Age=60", "b=2", "c=3; Max-Age=120")
        #expect(try field(store, "https://a.example/", after: 59) == "a=1; b=2; c=3")
        #expect(try field(store, "https://a.example/", after: 60) == "b=2; c=3")
        try take(["b=; Max-Age=0"], "https://a.example/", &store)
        #expect(try field(store, "https://a.example/", after: 60) == "c=3")
        #expect(store.count == 2)
    }

    /// Someone on the network path could answer for an origin without TLS.
    @Test func cookieFromAnOriginWithoutTLSReplacesNoSecureOne() throws {
        var store = try store("https://www.a.example/", "a=1; Secure; Domain=a.example; Path=/login", "b=1; Secure")
        let attempts = [
            "a=2; Domain=a.example; Path=/login", "a=2; Path=/login", "a=2; Path=/login/x", "b=2",
            "b=2; Domain=a.example",
        ]
        try take(attempts, "http://www.a.example/", &store)
        #expect(try field(store, "https://www.a.example/login/x") == "a=1; b=1")
        // Another path or name hides nothing.
        try take(["a=3; Path=/", "c=3"], "http://www.a.example/", &store)
        #expect(try field(store, "http://www.a.example/login") == "a=3; c=3")
    }

    @Test func domainKeepsFiftyCookies() throws {
        var store = CookieStore()
        try take((0..<50).map { "c\($0)=\($0)" }, "https://a.example/", &store)
        try take(["other=1"], "https://b.example/", &store)
        // The first one is used, so the second is the one that was unused for longest.
        try take(["c0=used"], "https://a.example/", &store)
        try take(["new=1"], "https://a.example/", &store)
        let sent = try #require(try field(store, "https://a.example/")).split(separator: "; ").map { String($0) }
        #expect(sent.count == 50 && sent.first == "c0=used" && sent.last == "new=1" && !sent.contains("c1=1"))
        #expect(try field(store, "https://b.example/") == "other=1")
        #expect(store.count == 51)
    }

    @Test func expiredCookiesGoFirst() throws {
        var store = CookieStore()
        try take((0..<49).map { "c\($0)=\($0)" } + ["gone=1; Max-Age=1"], "https://a.example/", &store)
        let target = try TargetURI("https://a.example/")
        let later = Self.now.adding(milliseconds: 2000)
        store.take(try #require(Cookie("new=1", from: target, at: later)), from: target, at: later)
        #expect(store.count == 50)
        #expect(store.field(for: target, at: later)?.hasPrefix("c0=0; c1=1;") == true)
    }

    @Test func jarKeepsThreeThousandCookies() throws {
        var store = CookieStore()
        for host in 0..<70 { try take((0..<50).map { "c\($0)=\($0)" }, "https://a\(host).example/", &store) }
        #expect(store.count == 3000)
        // 500 were removed: those of the first ten hosts.
        #expect(try field(store, "https://a9.example/") == nil)
        #expect(try field(store, "https://a10.example/")?.split(separator: ";").count == 50)
    }

    @Test func everyCookieThatIsCountedIsSent() throws {
        let seed: UInt64 = 7
        var random = SeededRandom(seed: seed)
        var store = CookieStore()
        for step in 0..<5000 {
            let isRemoval = Int.random(in: 0..<10, using: &random) == 0
            let field = "c\(Int.random(in: 0..<60, using: &random))=\(step)" + (isRemoval ? "; Max-Age=0" : "")
            try take([field], "https://a\(Int.random(in: 0..<80, using: &random)).example/", &store)
        }
        var sent = 0
        for host in 0..<80 {
            sent += try field(store, "https://a\(host).example/")?.split(separator: ";").count ?? 0
        }
        #expect(sent == store.count && sent > 1000 && sent <= 3000, "seed \(seed)")
    }
}
