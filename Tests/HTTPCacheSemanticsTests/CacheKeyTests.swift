import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite("Cache key", .timeLimit(.minutes(20)), .tags(.key))
struct CacheKeyTests {
    private let target: TargetURI
    private let digest = [UInt8](repeating: 7, count: 32)

    init() throws { target = try TargetURI("https://a.example/x?q=1") }

    @Test func encodingIsFixed() throws {
        // If the bytes of keys change, every store loses its entries: this test changes only
        // together with the version.
        let key = CacheKey(
            partition: .principal("u1"),
            method: .head,
            target: target,
            content: .init(type: "a/b", coding: nil, sha256: [1, 2])
        )
        var expected: [UInt8] = [1, 1, 3] + Array("u1".utf8) + [4] + Array("GET".utf8)
        expected += [6] + Array("https".utf8) + [10] + Array("a.example".utf8) + [1, 187]
        expected += [3] + Array("/x".utf8) + [4] + Array("q=1".utf8)
        expected += [1, 4] + Array("a/b".utf8) + [0, 3, 1, 2]
        #expect(key.bytes == expected)
    }

    @Test func everyPartOfARequestChangesTheKey() throws {
        let query = try #require(HTTPRequest.Method("QUERY"))
        let content = CacheKey.Content(type: nil, coding: nil, sha256: digest)
        var other = digest
        other[31] = 8
        let keys: [CacheKey] = [
            CacheKey(target: target),
            CacheKey(method: .post, target: target),
            CacheKey(method: query, target: target),
            CacheKey(partition: .principal(""), target: target),
            CacheKey(partition: .principal("a"), target: target),
            CacheKey(partition: .credentials([]), target: target),
            CacheKey(partition: .credentials(Array("a".utf8)), target: target),
            CacheKey(target: try TargetURI("http://a.example:443/x?q=1")),
            CacheKey(target: try TargetURI("https://b.example/x?q=1")),
            CacheKey(target: try TargetURI("https://a.example.:443/x?q=1")),
            CacheKey(target: try TargetURI("https://a.example:444/x?q=1")),
            CacheKey(target: try TargetURI("https://a.example/X?q=1")),
            CacheKey(target: try TargetURI("https://a.example/x")),
            CacheKey(target: try TargetURI("https://a.example/x?")),
            CacheKey(target: try TargetURI("https://a.example/x?q=2")),
            CacheKey(target: try TargetURI("https://a.example/x%3Fq=1")),
            CacheKey(target: target, content: content),
            CacheKey(target: target, content: .init(type: "", coding: nil, sha256: digest)),
            CacheKey(target: target, content: .init(type: nil, coding: "", sha256: digest)),
            CacheKey(target: target, content: .init(type: "a", coding: nil, sha256: digest)),
            CacheKey(target: target, content: .init(type: nil, coding: "a", sha256: digest)),
            CacheKey(target: target, content: .init(type: nil, coding: nil, sha256: other)),
            CacheKey(target: target, content: .init(type: nil, coding: nil, sha256: [])),
        ]
        #expect(Set(keys.map(\.bytes)).count == keys.count)
        #expect(Set(keys).count == keys.count)
    }

    @Test func headAndGetShareAKey() {
        #expect(CacheKey(method: .head, target: target) == CacheKey(method: .get, target: target))
        #expect(CacheKey(method: .head, target: target).components.method == .get)
    }

    @Test(arguments: [
        ("a|b", "c", "a", "b|c"), ("a", "", "", "a"), ("ab", "c", "a", "bc"), ("\u{2}a", "b", "a", "\u{2}b"),
    ])
    func noDelimiterCanBeInjected(firstType: String, firstCoding: String, secondType: String, secondCoding: String) {
        let first = CacheKey(target: target, content: .init(type: firstType, coding: firstCoding, sha256: digest))
        let second = CacheKey(target: target, content: .init(type: secondType, coding: secondCoding, sha256: digest))
        #expect(first != second)
    }

    @Test func inPartitionChangesOnlyThePartition() {
        let key = CacheKey(partition: .principal("a"), method: .post, target: target, content: nil)
        let moved = key.inPartition(.credentials(digest))
        #expect(moved == CacheKey(partition: .credentials(digest), method: .post, target: target))
        #expect(moved.inPartition(.principal("a")) == key)
    }

    @Test func rejectsNonCanonicalKeys() throws {
        let bytes = CacheKey(target: target).bytes
        #expect(CacheKey(bytes: bytes) != nil)
        #expect(CacheKey(bytes: []) == nil)
        #expect(CacheKey(bytes: [2] + bytes.dropFirst()) == nil, "another version")
        #expect(CacheKey(bytes: bytes + [0]) == nil, "bytes after the end")
        // partition 0, then the method's length 4 (3 + 1) spelled in two bytes
        #expect(CacheKey(bytes: [1, 0, 0x84, 0x00] + bytes.dropFirst(3)) == nil, "a length that is not minimal")
        #expect(CacheKey(bytes: [1, 0, 5] + Array("HEAD".utf8) + bytes.dropFirst(6)) == nil, "HEAD is written as GET")
        #expect(CacheKey(bytes: [1, 3] + bytes.dropFirst(2)) == nil, "an unknown partition")
        #expect(CacheKey(bytes: [1, 1, 0] + bytes.dropFirst(2)) == nil, "a principal that is absent")
        #expect(CacheKey(bytes: [1, 1, 2, 0xFF] + bytes.dropFirst(2)) == nil, "text that is not UTF-8")
        let huge: [UInt8] = [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        #expect(CacheKey(bytes: huge) == nil, "a length beyond every bound")
        for length in bytes.indices { #expect(CacheKey(bytes: Array(bytes[..<length])) == nil) }
    }
}
