import CZlib
import HTTPCache
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// The chain that content passes through, without a gateway.
@Suite(.timeLimit(.minutes(20)))
struct ContentChainTests {
    /// A stage that marks where it was called.
    private struct Marks: ContentStage {
        let name: String

        mutating func take(_ piece: inout ByteBuffer) -> ByteBuffer {
            guard let bytes = piece.readSlice(length: min(3, piece.readableBytes)) else { return ByteBuffer() }
            return ByteBuffer(string: String(buffer: bytes) + name)
        }

        mutating func end() -> ByteBuffer { ByteBuffer(string: "END\(name)") }
    }

    /// Sends content through a chain, in pieces of these lengths.
    private func send(_ content: [UInt8], in lengths: [Int], through stages: [any ContentStage]) throws -> [UInt8] {
        var (chain, result, rest) = (ContentChain(stages), [UInt8](), content[...])
        for length in lengths + [rest.count] {
            chain.add(ByteBuffer(bytes: rest.prefix(length)))
            rest = rest.dropFirst(length)
            while let bytes = try chain.next() { result += bytes.readableBytesView }
        }
        return result + (try chain.end()).readableBytesView
    }

    private func gzip() throws -> GzipStage {
        let permit = try #require(SharedPermits().take(for: .none, of: 1))
        return try #require(GzipStage(permit))
    }

    @Test func passesBytesThroughTheStagesInOrder() throws {
        let result = try send(Array("abcd".utf8), in: [], through: [Marks(name: "1"), Marks(name: "2")])
        #expect(String(decoding: result, as: UTF8.self) == "abc212d12END212END2")
    }

    /// Content is cut in two at each byte, and into pieces of each small length.
    @Test func decodesToTheSameBytesWhereverItIsCut() throws {
        let content = Array(CompressedGateway.text(1500).utf8)
        for cut in 0...content.count {
            let coded = try send(content, in: [cut], through: [gzip()])
            try #require(try Gzip.decoded(coded) == content, "\(cut)")
        }
        for length in 1...20 {
            let lengths = Array(repeating: length, count: content.count / length)
            try #require(try Gzip.decoded(try send(content, in: lengths, through: [gzip()])) == content, "\(length)")
        }
    }

    @Test(arguments: [0, 1, 1023, 8191, 8192, 8193, 65_535, 65_536, 262_144, 3_000_001])
    func decodesToTheSameBytes(length: Int) throws {
        let content = Array(CompressedGateway.text(length).utf8)
        #expect(content.count == length)
        var chain = ContentChain([try gzip()])
        let coded = try chain.transform(ByteBuffer(bytes: content))
        #expect(try Gzip.decoded(Array(buffer: coded)) == content)
        if length > 1000 { #expect(coded.readableBytes < length / 2) }
    }

    /// Content that gets no shorter passes as well.
    @Test func decodesRandomBytes() throws {
        var generator = SeededRandom(seed: 1)
        let content = (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
        #expect(try Gzip.decoded(try send(content, in: [1, 70_000], through: [gzip()])) == content)
    }

    /// A client can read the bytes that have arrived before the rest arrives.
    @Test func flushesWhatHasArrived() throws {
        var chain = ContentChain([try gzip()])
        var coded: [UInt8] = []
        for number in 0..<50 {
            chain.add(ByteBuffer(string: "event \(number)\n"))
            while let bytes = try chain.next() { coded += bytes.readableBytesView }
            coded += try chain.flush().readableBytesView
            let expected = (0...number).map { "event \($0)\n" }.joined()
            #expect(String(decoding: try Gzip.decoded(coded, isComplete: false), as: UTF8.self) == expected)
        }
        coded += try chain.end().readableBytesView
        #expect(try Gzip.decoded(coded).count == (0..<50).map { "event \($0)\n".utf8.count }.reduce(0, +))
    }

    /// No step returns more than a few kilobytes, however long the content is.
    @Test func needsTheSameMemoryForAnyLength() throws {
        var generator = SeededRandom(seed: 1)
        let piece = ByteBuffer(bytes: (0..<1 << 20).map { _ in UInt8.random(in: 0...255, using: &generator) })
        var chain = ContentChain([try gzip()])
        var longest = 0
        for _ in 0..<4 {
            chain.add(piece)
            while let bytes = try chain.next() { longest = max(longest, bytes.readableBytes) }
        }
        #expect(longest <= ZlibStream.outputLimit)
        #expect(try chain.end().readableBytes <= 128 << 10)
    }

    /// Coded content is cut in two at each byte. Two members are one content.
    @Test func decodesWhereverItIsCut() throws {
        let content = Array(CompressedGateway.text(1500).utf8)
        let member = try Gzip.compressed(content)
        let coded = member + member
        for cut in 0...coded.count {
            try #require(try send(coded, in: [cut], through: [GunzipStage()]) == content + content, "\(cut)")
        }
        for cut in 1..<member.count where cut != 0 {
            #expect(throws: GunzipStage.Failure.damaged) {
                try send(Array(member.prefix(cut)), in: [], through: [GunzipStage()])
            }
        }
        #expect(try send([], in: [], through: [GunzipStage()]) == [])
    }

    /// Content with a coding is decoded and coded again.
    @Test(arguments: [1, 8192, 100_000, 2_000_000]) func stagesFollowEachOther(length: Int) throws {
        let content = Array(CompressedGateway.text(length).utf8)
        let coded = try Gzip.compressed(content)
        #expect(try Gzip.decoded(try send(coded, in: [7], through: [GunzipStage(), gzip()])) == content)
    }

    /// Mutant: `gzip-decodes-without-a-limit`.
    @Test func decodesNoMoreThanTheLimit() throws {
        let bomb = try Gzip.compressed([UInt8](repeating: 0, count: 4 << 20))
        #expect(try send(bomb, in: [], through: [GunzipStage(limit: 4 << 20)]).count == 4 << 20)
        var chain = ContentChain([GunzipStage(limit: (4 << 20) - 1)])
        chain.add(ByteBuffer(bytes: bomb))
        var (count, longest) = (0, 0)
        #expect(throws: GunzipStage.Failure.tooLarge) {
            while let bytes = try chain.next() {
                count += bytes.readableBytes
                longest = max(longest, bytes.readableBytes)
            }
        }
        #expect(count < 4 << 20 && longest <= ZlibStream.outputLimit)
    }

    /// A permit is held for as long as a stage exists.
    @Test func permitsReturnWithTheirStages() throws {
        let permits = SharedPermits()
        var stages = (0..<3).compactMap { _ in permits.take(for: .none, of: 2).flatMap { GzipStage($0) } }
        #expect(stages.count == 2 && permits.count == 2)
        stages.removeLast()
        #expect(permits.count == 1)
        stages = []
        #expect(permits.count == 0)
    }

    /// A client that has many permits leaves some to others.
    @Test func oneClientLeavesPermitsToOthers() {
        let permits = SharedPermits()
        let greedy = (0..<8).compactMap { _ in permits.take(for: RequestClient("10.0.0.1"), of: 8) }
        #expect(greedy.count == 6)
        #expect(permits.take(for: RequestClient("10.0.0.2"), of: 8) != nil)
    }
}
