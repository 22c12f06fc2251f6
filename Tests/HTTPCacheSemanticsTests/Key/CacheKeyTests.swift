import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(20)), .tags(.key)) struct CacheKeyTests {
    private let target: TargetURI
    private let digest = [UInt8](repeating: 7, count: 32)

    init() throws { target = try TargetURI("https://a.example/x?q=1") }

    @Test func encodingIsFixed() throws {
        // If the bytes of keys change, every store loses its entries: this test changes only
        // together with the version.
        let key = StoreKey(
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
        let content = StoreKey.Content(type: nil, coding: nil, sha256: digest)
        var other = digest
        other[31] = 8
        let keys: [StoreKey] = [
            StoreKey(target: target),
            StoreKey(method: .post, target: target),
            StoreKey(method: query, target: target),
            StoreKey(partition: .principal(""), target: target),
            StoreKey(partition: .principal("a"), target: target),
            StoreKey(partition: .credentials([]), target: target),
            StoreKey(partition: .credentials(Array("a".utf8)), target: target),
            StoreKey(target: try TargetURI("http://a.example:443/x?q=1")),
            StoreKey(target: try TargetURI("https://b.example/x?q=1")),
            StoreKey(target: try TargetURI("https://a.example.:443/x?q=1")),
            StoreKey(target: try TargetURI("https://a.example:444/x?q=1")),
            StoreKey(target: try TargetURI("https://a.example/X?q=1")),
            StoreKey(target: try TargetURI("https://a.example/x")),
            StoreKey(target: try TargetURI("https://a.example/x?")),
            StoreKey(target: try TargetURI("https://a.example/x?q=2")),
            StoreKey(target: try TargetURI("https://a.example/x%3Fq=1")),
            StoreKey(target: target, content: content),
            StoreKey(target: target, content: .init(type: "", coding: nil, sha256: digest)),
            StoreKey(target: target, content: .init(type: nil, coding: "", sha256: digest)),
            StoreKey(target: target, content: .init(type: "a", coding: nil, sha256: digest)),
            StoreKey(target: target, content: .init(type: nil, coding: "a", sha256: digest)),
            StoreKey(target: target, content: .init(type: nil, coding: nil, sha256: other)),
            StoreKey(target: target, content: .init(type: nil, coding: nil, sha256: [])),
        ]
        #expect(Set(keys.map(\.bytes)).count == keys.count)
        #expect(Set(keys).count == keys.count)
    }

    @Test func headAndGetShareAKey() {
        #expect(StoreKey(method: .head, target: target) == StoreKey(method: .get, target: target))
        #expect(StoreKey(method: .head, target: target).components.method == .get)
    }

    @Test(arguments: [
        ("a|b", "c", "a", "b|c"), ("a", "", "", "a"), ("ab", "c", "a", "bc"), ("\u{2}a", "b", "a", "\u{2}b"),
    ])
    func noDelimiterCanBeInjected(firstType: String, firstCoding: String, secondType: String, secondCoding: String) {
        let first = StoreKey(target: target, content: .init(type: firstType, coding: firstCoding, sha256: digest))
        let second = StoreKey(target: target, content: .init(type: secondType, coding: secondCoding, sha256: digest))
        #expect(first != second)
    }

    @Test func inPartitionChangesOnlyThePartition() {
        let key = StoreKey(partition: .principal("a"), method: .post, target: target, content: nil)
        let moved = key.inPartition(.credentials(digest))
        #expect(moved == StoreKey(partition: .credentials(digest), method: .post, target: target))
        #expect(moved.inPartition(.principal("a")) == key)
    }

    @Test func rejectsNonCanonicalKeys() throws {
        let bytes = StoreKey(target: target).bytes
        #expect(StoreKey(bytes: bytes) != nil)
        #expect(StoreKey(bytes: []) == nil)
        #expect(StoreKey(bytes: [2] + bytes.dropFirst()) == nil, "another version")
        #expect(StoreKey(bytes: bytes + [0]) == nil, "bytes after the end")
        // partition 0, then the method's length 4 (3 + 1) spelled in two bytes
        #expect(StoreKey(bytes: [1, 0, 0x84, 0x00] + bytes.dropFirst(3)) == nil, "a length that is not minimal")
        #expect(StoreKey(bytes: [1, 0, 5] + Array("HEAD".utf8) + bytes.dropFirst(6)) == nil, "HEAD is written as GET")
        #expect(StoreKey(bytes: [1, 4] + bytes.dropFirst(2)) == nil, "an unknown partition")
        #expect(StoreKey(bytes: [1, 1, 0] + bytes.dropFirst(2)) == nil, "a principal that is absent")
        #expect(StoreKey(bytes: [1, 1, 2, 0xFF] + bytes.dropFirst(2)) == nil, "text that is not UTF-8")
        let huge: [UInt8] = [1, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        #expect(StoreKey(bytes: huge) == nil, "a length beyond every bound")
        for length in bytes.indices { #expect(StoreKey(bytes: Array(bytes[..<length])) == nil) }
    }
}
