import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

@Suite(.timeLimit(.minutes(20)), .tags(.key)) struct TargetPrefixTests {
    @Test(
        arguments: [
            ("https://a.example", "https://a.example/", true),
            ("https://a.example", "https://a.example/x?y", true),
            ("https://a.example", "https://a.example.evil/", false),
            ("https://a.example", "https://aa.example/", false),
            ("https://a.example", "http://a.example/", false),
            ("https://a.example", "https://a.example:444/", false),
            ("https://a.example:444/", "https://a.example:444/x", true),
            ("HTTPS://A.example:443/x", "https://a.example/x", true),
            ("https://a.example/img/", "https://a.example/img/a.png", true),
            ("https://a.example/img/", "https://a.example/img", false),
            ("https://a.example/img", "https://a.example/images", false),
            ("https://a.example/img", "https://a.example/imgs", true),
            ("https://a.example/im", "https://a.example/images", true),
            ("https://a.example/img", "https://a.example/IMG", false),
            ("https://a.example/img", "https://a.example/img?w=1", true),
            ("https://a.example/img?", "https://a.example/img", false),
            ("https://a.example/img?", "https://a.example/img?", true),
            ("https://a.example/img?", "https://a.example/img?w=1", true),
            ("https://a.example/img?", "https://a.example/img/?w=1", false),
            ("https://a.example/list?page=", "https://a.example/list?page=1", true),
            ("https://a.example/list?page=1", "https://a.example/list?page=12", true),
            ("https://a.example/list?page=1", "https://a.example/list?page=2", false),
            ("https://a.example/list?page=1", "https://a.example/list?page", false),
            ("https://a.example?x", "https://a.example/?xy", true),
            ("https://a.example/a b", "https://a.example/a%20bc", true),
            ("https://a.example/x#top", "https://a.example/xy", true),
            ("https://a.example/a%2", "https://a.example/a%2Fb", false),
            ("https://a.example/a%2F", "https://a.example/a%2fb", false),
            ("https://a.example/é", "https://a.example/%C3%A9t", true),
        ]
    )
    func coversTargetsByTheirBytes(prefix: String, target: String, isCovered: Bool) throws {
        let (prefix, target) = (try TargetPrefix(prefix), try TargetURI(target))
        #expect(prefix.covers(target) == isCovered)
        let content = StoreKey.Content(type: "a", coding: nil, sha256: [1, 2])
        for partition in [StoreKey.Partition.common, .principal("p"), .credentials([0, 0xFF])] {
            for method in [HTTPRequest.Method.get, .post] {
                for content in [nil, content] {
                    let key = StoreKey(partition: partition, method: method, target: target, content: content)
                    #expect(prefix.covers(key) == isCovered)
                    #expect(covers(prefix.canonicalBytes, key.bytes) == isCovered)
                }
            }
        }
    }

    private func covers(_ prefix: [UInt8], _ key: [UInt8]) -> Bool {
        prefix.withUnsafeBytes { prefix in
            key.withUnsafeBytes { TargetPrefix.covers(prefix: prefix, key: $0) }
        }
    }

    @Test func comparingBytesAgreesWithComparingTargets() throws {
        var generator = SeededRandom(seed: 1)
        let words = ["", "a", "b", "/", "?", "a/", "%2F", "="]
        func text() -> String {
            let host = ["a.example", "b.example", "a.example:8080"].randomElement(using: &generator) ?? ""
            let parts = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                words.randomElement(using: &generator) ?? ""
            }
            return "http://\(host)/" + parts.joined()
        }
        var covered = 0
        for _ in 0..<4000 {
            let (prefix, target) = (try TargetPrefix(text()), try TargetURI(text()))
            let isCovered = target.uri.hasPrefix(prefix.uri)
            if isCovered { covered += 1 }
            #expect(prefix.covers(target) == isCovered, "\(prefix.uri) \(target.uri)")
            #expect(covers(prefix.canonicalBytes, StoreKey(target: target).bytes) == isCovered)
        }
        #expect(covered > 100)
    }

    /// For every damaged file: no trap, and no read beyond the end.
    @Test func coversNoDamagedKeys() throws {
        let prefix = try TargetPrefix("https://a.example/img/").canonicalBytes
        let key = StoreKey(partition: .principal("p"), target: try TargetURI("https://a.example/img/a?b")).bytes
        #expect(covers(prefix, key))
        #expect(!covers([], []) && !covers(prefix, []) && !covers([], key))
        // A key that is cut before the end of its path is not a key.
        for count in 0..<(key.count - 4) { #expect(!covers(prefix, Array(key.prefix(count)))) }
        for count in 0..<prefix.count { #expect(!covers(Array(prefix.prefix(count)), key)) }
        var generator = SeededRandom(seed: 1)
        for _ in 0..<5000 {
            var (broken, other) = (key, prefix)
            broken[Int.random(in: broken.indices, using: &generator)] = .random(in: .min ... .max, using: &generator)
            other[Int.random(in: other.indices, using: &generator)] = .random(in: .min ... .max, using: &generator)
            _ = covers(prefix, broken)
            _ = covers(other, broken)
        }
    }

    @Test func readsItsEncodingBack() throws {
        for text in ["https://a.example", "http://[::1]:8080/x?y=%C3%A9", "https://a.example/list?"] {
            let prefix = try TargetPrefix(text)
            #expect(TargetPrefix(canonicalBytes: prefix.canonicalBytes) == prefix)
            #expect(TargetPrefix(canonicalBytes: prefix.canonicalBytes + [0]) == nil)
            #expect(TargetPrefix(canonicalBytes: prefix.canonicalBytes.dropLast()) == nil)
            #expect(try TargetPrefix(prefix.uri) == prefix)
        }
    }

    @Test func overlappingIsMutual() throws {
        func overlap(_ a: String, _ b: String) throws -> Bool {
            let (a, b) = (try TargetPrefix(a), try TargetPrefix(b))
            #expect(a.overlaps(b) == b.overlaps(a))
            return a.overlaps(b)
        }
        #expect(try overlap("https://a.example/x", "https://a.example/x/y"))
        #expect(try overlap("https://a.example/x", "https://a.example/x"))
        #expect(try !overlap("https://a.example/x", "https://a.example/y"))
        #expect(try !overlap("https://a.example/x", "http://a.example/x"))
    }

    @Test func rejectsInvalidTargets() throws {
        for text in ["/img/", "ftp://a.example/", "https://", "https://u@a.example/", "https://a.example/%C3"] {
            #expect(throws: TargetURIError.self) { try TargetPrefix(text) }
        }
    }

    @Test func showsNoSecrets() throws {
        let prefix = try TargetPrefix("https://a.example/x?token=abc")
        #expect("\(prefix)" == "https://a.example/x?token=REDACTED")
        #expect(prefix.requestTarget == "/x?token=abc")
    }
}
