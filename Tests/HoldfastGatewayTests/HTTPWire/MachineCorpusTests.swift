import Foundation
import HoldfastTesting
import Testing

@testable import HoldfastGateway

/// However the bytes of a connection are cut, the machine begins, hands over and refuses the same.
/// The bytes are those of the fuzzers' corpus, and malformed and long ones beside them.
@Suite(.timeLimit(.minutes(20)))
struct MachineCorpusTests {
    /// The fuzzers' requests, by name.
    private static let corpus: [String: [UInt8]] = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Fuzz/Corpus/http1-request", isDirectory: true).standardizedFileURL
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return Dictionary(
            files.compactMap { file in (try? Data(contentsOf: file)).map { (file.lastPathComponent, Array($0)) } },
            uniquingKeysWith: { first, _ in first }
        )
    }()

    private static let others = [
        "GET / HTTP/1.1\r\nHost: g\r\n\r\n\r\nGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\n\r\n\r\n\r\nGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\nGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\nGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.1\nHost: g\r\n\r\n", "GET / HTTP/1.1\r\nHost: g\r\nHost: h\r\n\r\n", "GET /",
        "PUT / HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nabcdGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: g\r\nContent-Length: 9\r\n\r\nabcd",
        "PUT / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\nGET /a HTTP/1.1\r\nHost: g\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcdX\r\n0\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ].map { Array($0.utf8) }

    @Test func corpusIsRead() { #expect(Self.corpus.count >= 5) }

    @Test(arguments: Array(corpus.values) + others) func decodesRecordedRequestsCutAtEveryByte(bytes: [UInt8]) {
        let whole = MachineEvents.of([bytes[...]])
        #expect(!whole.isEmpty)
        for place in 1..<bytes.count {
            #expect(MachineEvents.of([bytes[..<place], bytes[place...]]) == whole, "cut at \(place)")
        }
        #expect(MachineEvents.of(bytes.indices.map { bytes[$0...$0] }) == whole, "byte for byte")
    }

    @Test(arguments: 0..<4 as Range<UInt64>) func decodesTwoRecordedRequestsCutAtRandomPlaces(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let all = Self.corpus.sorted { $0.key < $1.key }.map(\.value) + Self.others
        for _ in 0..<60 {
            let bytes = (0..<2).flatMap { _ in all.randomElement(using: &random) ?? [] }
            let places = (0..<5).map { _ in Int.random(in: 0..<bytes.count, using: &random) }.sorted()
            let pieces = zip([0] + places, places + [bytes.count]).map { bytes[$0..<$1] }.filter { !$0.isEmpty }
            #expect(MachineEvents.of(pieces) == MachineEvents.of([bytes[...]]), "seed \(seed), cut at \(places)")
        }
    }
}
