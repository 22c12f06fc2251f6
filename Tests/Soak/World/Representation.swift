import Foundation

/// The bytes of one version of a resource, which follow from seed, target, version and selector.
///
/// The first line names it; noise follows, which differs for each representation.
struct Representation: Sendable {
    let resource: Resource
    let version: Int
    /// The principal or the language that it is for; `-` if it is for all.
    let selector: String
    let status: Int
    private let line: [UInt8]
    private let payload: Int
    private let offset: Int
    private let noise: Noise

    init(_ resource: Resource, version: Int, selector: String, noise: Noise) {
        self.resource = resource
        self.version = version
        self.selector = selector
        self.noise = noise
        let hash = SeededGenerator.hash("\(resource.target) \(version) \(selector)", seed: noise.seed)
        status = Self.status(resource, hash)
        payload = Self.payload(resource, hash, SeededGenerator.hash(resource.target, seed: noise.seed))
        offset = Int(hash % UInt64(Noise.count - Self.largest))
        line = Array("soak target=\(resource.target) version=\(version) selector=\(selector)\n".utf8)
    }

    var count: Int { line.count + payload }

    var entityTag: String { "\"v\(version)-\(selector)\"" }

    /// - Returns: `nil` if it is not an entity tag of the harness's origins.
    static func version(ofTag tag: String) -> (version: Int, selector: String)? {
        guard tag.hasPrefix("\"v"), tag.hasSuffix("\"") else { return nil }
        let parts = tag.dropFirst(2).dropLast().split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let version = Int(parts[0]) else { return nil }
        return (version, String(parts[1]))
    }

    func bytes(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count)
        if range.lowerBound < line.count { bytes += line[range.lowerBound..<min(line.count, range.upperBound)] }
        let from = max(range.lowerBound, line.count) - line.count
        let to = max(range.upperBound, line.count) - line.count
        bytes += noise.bytes[(offset + from)..<(offset + to)]
        return bytes
    }

    var bytes: [UInt8] { bytes(0..<count) }

    static let largest = 512 << 10

    private static func status(_ resource: Resource, _ hash: UInt64) -> Int {
        switch resource.kind {
        case .gone: hash % 3 == 0 ? 404 : 200
        case .flaky: hash % 2 == 0 ? 503 : 200
        default: 200
        }
    }

    /// - Parameter kept: the same for all versions of a resource.
    private static func payload(_ resource: Resource, _ hash: UInt64, _ kept: UInt64) -> Int {
        switch resource.kind {
        // Only its bytes distinguish a body from the previous one of the same length.
        case .plain where kept % 2 == 0: 400
        case .page where kept % 8 == 0: 100_000 + Int(hash % 200_000)
        case .slow: 20_000 + Int(hash % 200_000)
        case .once, .upload: Int(hash % 3_000)
        default: Int(hash % 4_000)
        }
    }
}

/// The random bytes that bodies are cut from.
struct Noise: Sendable {
    static let count = 2 << 20
    let seed: UInt64
    let bytes: [UInt8]

    init(seed: UInt64) {
        self.seed = seed
        var random = SeededGenerator(seed: seed, parts: 0x4E01)
        bytes = [UInt8](unsafeUninitializedCapacity: Self.count) { buffer, count in
            let words = UnsafeMutableRawBufferPointer(buffer)
            for place in stride(from: 0, to: Self.count, by: 8) {
                words.storeBytes(of: random.next(), toByteOffset: place, as: UInt64.self)
            }
            count = Self.count
        }
    }
}
