import HoldfastTesting
import NIOCore
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct ChunkSealerTests {
    private typealias Bench = ResponseBench

    @Test(arguments: [65_537, 131_072, 131_073, 200_000]) func bodyComesBack(_ length: Int) throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(length))
        #expect(chunks.count == body.count && body.count == (length + 65_535) / 65_536 && body.length == length)
        #expect(Set(chunks.map(\.name)).count == chunks.count)
        #expect(chunks.allSatisfy { $0.bytes.readableBytes <= ValueLimits.longestChunk })
        #expect(try bench.body(chunks.map(\.bytes), body) == Bench.bytes(length))
    }

    @Test func namesOfTheNextChunksAreAtMostEight() throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(10 * 65_536))
        var opener = ChunkOpener(keys: bench.keys, names: bench.names, body: body)
        #expect(opener.nextNames == chunks[..<8].map(\.name))
        for chunk in chunks[..<8] { _ = try opener.open(chunk.bytes) }
        #expect(opener.nextNames == chunks[8...].map(\.name))
        for chunk in chunks[8...] { _ = try opener.open(chunk.bytes) }
        #expect(opener.nextNames == [])
        #expect(throws: SealFault.forged) { try opener.open(chunks[9].bytes) }
    }

    /// Every byte of the ends, and some of those between.
    @Test func changeOfAnyByteIsNoticed() throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(65_536 + 300))
        let whole = chunks.map(\.bytes)
        let last = whole[1].readableBytes
        for index in 0..<last {
            let fault = bench.chunkFault([whole[0], whole[1].flipped(index, UInt8(1 << (index % 8)))], body)
            #expect(fault == (index == 0 ? .malformed : index == 1 ? .unknownKey : .forged), "byte \(index)")
        }
        for count in 0..<last {
            let cut = try #require(whole[1].getSlice(at: 0, length: count))
            #expect(bench.chunkFault([whole[0], cut], body) != nil, "\(count) bytes")
        }
        for index in stride(from: 0, to: whole[0].readableBytes, by: 997) {
            #expect(bench.chunkFault([whole[0].flipped(index), whole[1]], body) != nil)
        }
    }

    @Test func chunksAreNotSwappedCutOrRepeated() throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(3 * 65_536))
        let whole = chunks.map(\.bytes)
        #expect(bench.chunkFault(whole, body) == nil)
        for wrong in [
            [whole[1], whole[0], whole[2]], [whole[0], whole[0], whole[2]], [whole[0], whole[2], whole[1]],
            [whole[0], whole[1]], [whole[0]], [], whole + [whole[2]], [whole[0], whole[1], whole[1]],
        ] {
            #expect(bench.chunkFault(wrong, body) == .forged)
        }
    }

    @Test func chunksOfAnotherBodyAreForged() throws {
        let bench = try Bench()
        let (chunks, body) = try bench.chunks(Bench.bytes(2 * 65_536), id: 1)
        let (others, other) = try bench.chunks(Bench.bytes(2 * 65_536), id: 2)
        #expect(bench.chunkFault([others[0].bytes, chunks[1].bytes], body) == .forged)
        // The same id, sealed again: another digest.
        var (random, sealer) = (
            SeededRandom(seed: 99),
            ChunkSealer(keys: bench.keys, names: bench.names, id: body.id, length: body.length)
        )
        let again = try sealer.seal(ByteBuffer(repeating: 1, count: 65_536), using: &random)
        #expect(again.name == chunks[0].name)
        #expect(bench.chunkFault([again.bytes, chunks[1].bytes], body) == .forged)
        // Another number of chunks, and another key.
        var longer = body
        longer.length += 1
        #expect(bench.chunkFault(chunks.map(\.bytes), longer) == .forged)
        #expect(try Bench(path: "/other").chunkFault(others.map(\.bytes), other) == .forged)
        #expect(try Bench(Bench.otherSecret).chunkFault(others.map(\.bytes), other) == .unknownKey)
    }

    @Test func sealerTakesOnlyWholeChunks() throws {
        let bench = try Bench()
        var random = SeededRandom(seed: 1)
        var sealer = ChunkSealer(keys: bench.keys, names: bench.names, id: BodyID(bits: 1), length: 70_000)
        #expect(sealer.nextLength == 65_536)
        #expect(throws: FleetLogError.limit("chunks")) { try sealer.finish() }
        #expect(throws: FleetLogError.limit("chunk")) { try sealer.seal(Bench.bytes(65_535), using: &random) }
        _ = try sealer.seal(Bench.bytes(65_536), using: &random)
        #expect(sealer.nextLength == 4464)
        _ = try sealer.seal(Bench.bytes(4464), using: &random)
        #expect(sealer.nextLength == nil)
        #expect(throws: FleetLogError.limit("chunk")) { try sealer.seal(Bench.bytes(1), using: &random) }
        #expect(try sealer.finish().length == 70_000)
    }
}
