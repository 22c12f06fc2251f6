import HTTPTypes
import Hummingbird

/// Bytes that depend only on their offset and a seed: the body of `GET /bytes/{count}`.
///
/// No part repeats, so that swapped, lost and duplicated parts of a body are detected. A test
/// compares the received bytes with ``bytes(_:)``.
public struct DeterministicBytes: Sendable {
    /// The length of the longest body, 1 TiB: endless in practice.
    public static let maximumCount: Int64 = 1 << 40

    private static let chunkLength: Int64 = 64 << 10

    private let seed: UInt64

    /// Creates the bytes for a seed, as in `GET /bytes/{count}?seed=…`.
    public init(seed: UInt64 = 0) {
        self.seed = seed
    }

    /// Returns the bytes at these offsets.
    public func bytes(_ range: Range<Int64>) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(range.count + 16)
        let firstWord = range.lowerBound >> 3
        for index in firstWord...((range.upperBound - 1) >> 3) {
            withUnsafeBytes(of: word(UInt64(index)).littleEndian) { bytes.append(contentsOf: $0) }
        }
        let skipped = Int(range.lowerBound - firstWord << 3)
        return Array(bytes[skipped..<skipped + range.count])
    }

    /// Returns a word by SplitMix64, which mixes the word's index, so any offset can be computed
    /// independently.
    private func word(_ index: UInt64) -> UInt64 {
        var mixed = (index &+ seed &* 0xD134_2543_DE82_EF95) &* 0x9E37_79B9_7F4A_7C15 &+ 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a response that streams `count` bytes, with or without a length.
    func response(count: Int64, isChunked: Bool, cacheControl: String) -> Response {
        // The content is a function of these two values, so a tag computed from them is as strong
        // as a tag computed from the bytes.
        let tag = entityTag(of: Array("\(seed)/\(count)".utf8))
        return Response(
            status: .ok,
            headers: [.contentType: "application/octet-stream", .eTag: tag, .cacheControl: cacheControl],
            body: body(0..<count, isChunked: isChunked)
        )
    }

    /// Returns a body that streams the bytes at these offsets, with or without a length.
    func body(_ range: Range<Int64>, isChunked: Bool) -> ResponseBody {
        ResponseBody(contentLength: isChunked ? nil : range.count) { writer in
            var offset = range.lowerBound
            while offset < range.upperBound {
                let end = min(offset + Self.chunkLength, range.upperBound)
                try await writer.write(ByteBuffer(bytes: bytes(offset..<end)))
                offset = end
            }
            try await writer.finish(nil)
        }
    }
}
