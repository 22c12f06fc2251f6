import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Testing

/// Properties of the key over random requests.
///
/// A failure names its seed: put it into `seeds` to replay it.
@Suite(.timeLimit(.minutes(20)), .tags(.key))
struct CacheKeyPropertyTests {
    static let seeds: [UInt64] = [1, 0xC0FFEE, 20_260_301]

    private func components(_ generator: inout SeededRandom) throws -> StoreKey.Components {
        let partition: StoreKey.Partition =
            switch Int.random(in: 0..<4, using: &generator) {
            case 0: .common
            case 1: .principal(generator.text(maximum: 6))
            case 2: .job(generator.text(maximum: 6))
            default:
                .credentials(
                    (0..<Int.random(in: 0...40, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
                )
            }
        let methods: [HTTPRequest.Method] = [.get, .post, .put, try #require(HTTPRequest.Method("QUERY"))]
        let hosts = ["a.example", "a.example:81", "[::1]", "b"]
        let path = generator.text(maximum: 8).filter { !$0.isASCII || ($0 > " " && $0 != "\u{7F}") }
        let target = try TargetURI("http://\(hosts[Int.random(in: 0..<4, using: &generator)])/\(path)")
        var content: StoreKey.Content?
        if Bool.random(using: &generator) {
            content = StoreKey.Content(
                type: Bool.random(using: &generator) ? generator.text(maximum: 4) : nil,
                coding: Bool.random(using: &generator) ? generator.text(maximum: 4) : nil,
                sha256: (0..<32).map { _ in .random(in: 0...255, using: &generator) }
            )
        }
        return StoreKey.Components(
            partition: partition,
            method: methods[Int.random(in: 0..<4, using: &generator)],
            target: target,
            content: content
        )
    }

    @Test(arguments: seeds)
    func encodingAndDecodingAreInverse(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for round in 0..<800 {
            let parts = try components(&generator)
            let key = StoreKey(
                partition: parts.partition,
                method: parts.method,
                target: parts.target,
                content: parts.content
            )
            try #require(key.components == parts, "seed \(seed), round \(round)")
            let read = try #require(StoreKey(bytes: key.bytes), "seed \(seed), round \(round)")
            try #require(read.bytes == key.bytes, "seed \(seed), round \(round)")
            try #require(key.outline.method == parts.method, "seed \(seed), round \(round)")
            let canonicalTarget = parts.target.canonicalBytes
            try #require(key.outline.canonicalTarget == canonicalTarget, "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: seeds)
    func differentRequestsHaveDifferentKeys(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        var seen: [[UInt8]: String] = [:]
        for round in 0..<800 {
            let parts = try components(&generator)
            let key = StoreKey(
                partition: parts.partition,
                method: parts.method,
                target: parts.target,
                content: parts.content
            )
            // Bytes, not Strings: "é" composed and decomposed are equal Strings and different
            // requests.
            let text = bytes(of: parts)
            if let earlier = seen[key.bytes] { try #require(earlier == text, "seed \(seed), round \(round)") }
            seen[key.bytes] = text
        }
        #expect(Set(seen.values).count == seen.count, "seed \(seed): one request, two keys")
    }

    private func bytes(of parts: StoreKey.Components) -> String {
        let partition: String =
            switch parts.partition {
            case .common: "common"
            case .principal(let name): "p\(Array(name.utf8))"
            case .credentials(let digest): "c\(digest)"
            case .job(let name): "j\(Array(name.utf8))"
            }
        let content = parts.content.map { content in
            "\(content.type.map { Array($0.utf8) }.debugDescription) \(content.coding.map { Array($0.utf8) }.debugDescription) \(content.sha256)"
        }
        return "\(partition) \(parts.method) \(parts.target.uri) \(content ?? "-")"
    }

    /// A damaged key is rejected, or is the canonical key of another request; it is never a second
    /// spelling of the same key.
    @Test(arguments: seeds)
    func damagedBytesNeverDecodeToTheSameKey(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for round in 0..<1_500 {
            let parts = try components(&generator)
            let key = StoreKey(
                partition: parts.partition,
                method: parts.method,
                target: parts.target,
                content: parts.content
            )
            var damagedBytes = key.bytes
            switch Int.random(in: 0..<3, using: &generator) {
            case 0:
                damagedBytes[Int.random(in: 0..<damagedBytes.count, using: &generator)] = .random(
                    in: 0...255,
                    using: &generator
                )
            case 1: damagedBytes.remove(at: Int.random(in: 0..<damagedBytes.count, using: &generator))
            default:
                damagedBytes.insert(
                    .random(in: 0...255, using: &generator),
                    at: Int.random(in: 0...damagedBytes.count, using: &generator)
                )
            }
            guard damagedBytes != key.bytes, let damaged = StoreKey(bytes: damagedBytes) else { continue }
            let read = damaged.components
            let again = StoreKey(
                partition: read.partition,
                method: read.method,
                target: read.target,
                content: read.content
            )
            try #require(again.bytes == damagedBytes, "seed \(seed), round \(round)")
            try #require(bytes(of: read) != bytes(of: parts), "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: seeds)
    func decoderNeverTraps(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        for _ in 0..<4_000 {
            var bytes: [UInt8] = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                .random(in: 0...255, using: &generator)
            }
            if !bytes.isEmpty { bytes[0] = StoreKey.version }
            if let key = StoreKey(bytes: bytes) { #expect(key.bytes == bytes) }
        }
    }
}
