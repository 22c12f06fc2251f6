import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(20)), .tags(.key)) struct TargetHostTests {
    @Test(
        arguments: [
            ("a.example", "https://a.example/", true), ("a.example", "http://A.example:8080/x?y", true),
            ("A.EXAMPLE", "https://a.example/", true), ("a.example", "https://b.a.example/", false),
            ("a.example", "https://a.example.evil/", false), ("a.example", "https://a.exampl/", false),
            ("[::1]", "http://[::1]:9/", true), ("127.0.0.1", "http://127.0.0.1/", true),
            ("127.0.0.1", "http://127.0.0.10/", false),
        ]
    )
    func coversTargetsOfEverySchemeAndPort(host: String, target: String, isCovered: Bool) throws {
        let (host, target) = (try TargetHost(host), try TargetURI(target))
        #expect(host.covers(target) == isCovered)
        for partition in [StoreKey.Partition.common, .principal("p"), .credentials([0, 0xFF])] {
            for method in [HTTPRequest.Method.get, .post] {
                let key = StoreKey(partition: partition, method: method, target: target)
                #expect(host.covers(key) == isCovered)
                let isCoveredByBytes = host.canonicalBytes.withUnsafeBytes { prefix in
                    key.bytes.withUnsafeBytes { TargetPrefix.covers(prefix: prefix, key: $0) }
                }
                #expect(isCoveredByBytes == isCovered)
            }
        }
    }

    @Test(arguments: ["", "a:80", "a/", "a?", "a#b", "https://a", "u@a", "a b", "*", "[::1", "a\r\nb", "é.example"])
    func rejectsEverythingBesideOneHost(text: String) {
        #expect(throws: TargetURIError.self) { try TargetHost(text) }
    }

    @Test func bytesThatAreCutCoverNothing() throws {
        let host = try TargetHost("a.example").canonicalBytes
        let key = StoreKey(partition: .common, method: .get, target: try TargetURI("https://a.example/")).bytes
        for length in 0..<host.count {
            let isCovered = host[..<length].withUnsafeBytes { prefix in
                key.withUnsafeBytes { TargetPrefix.covers(prefix: prefix, key: $0) }
            }
            #expect(!isCovered)
        }
    }
}
