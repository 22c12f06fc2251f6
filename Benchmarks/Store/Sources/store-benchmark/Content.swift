import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore

/// The stored content: the same for the same number, in every run.
enum Content {
    static func objectKey(_ number: Int) -> String { "item-\(number)" }

    static func uri(_ number: Int) -> String { "https://api.example/v2/items/\(number)" }

    static func responseKey(_ number: Int) throws -> StoreKey {
        StoreKey(target: try TargetURI(uri(number)))
    }

    /// Bytes that do not compress.
    static func bytes(_ number: Int, count: Int) -> [UInt8] {
        var random = SplitMix(seed: UInt64(number) &+ 1)
        let words = (count + 7) / 8
        return [UInt8](unsafeUninitializedCapacity: words * 8) { buffer, initialized in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            for word in 0..<words { raw.storeBytes(of: random.next(), toByteOffset: word * 8, as: UInt64.self) }
            initialized = count
        }
    }

    static func response(_ number: Int, count: Int) -> RawResponse {
        RawResponse(
            status: .ok,
            fields: [
                .date: "Sun, 01 Mar 2026 12:00:00 GMT",
                .contentType: "application/json; charset=utf-8",
                .contentLength: "\(count)",
                .cacheControl: "public, max-age=3600, stale-while-revalidate=30",
                .eTag: "\"5f2b1c-3ab\"",
                .lastModified: "Sun, 01 Mar 2026 11:00:00 GMT",
            ],
            body: ByteBuffer(bytes: bytes(number, count: count))
        )
    }

    /// Numbers from 0 to `bound`, in an order that is the same in every run.
    static func numbers(_ count: Int, below bound: Int, seed: UInt64 = 42) -> [Int] {
        var random = SplitMix(seed: seed)
        return (0..<count).map { _ in Int.random(in: 0..<bound, using: &random) }
    }
}

/// Random numbers from a seed (Steele, Lea, Flood: SplitMix64).
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}

/// Encodes bytes unchanged: compared with caches of bytes, JSON would be measured and not the
/// store.
struct ByteCoder: ObjectCoder {
    var contentType: String { "application/octet-stream" }

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        guard let bytes = value as? [UInt8] else { throw BenchmarkError("Only bytes are stored here.") }
        return bytes
    }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        guard let value = bytes as? Value else { throw BenchmarkError("Only bytes are stored here.") }
        return value
    }
}
