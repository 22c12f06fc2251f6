import HTTPCacheSemantics
import HTTPTypes
import Synchronization
import Testing

/// Fields of a stored head that are decoded on first use.
@Suite(.timeLimit(.minutes(20))) struct EncodedFieldsTests {
    /// Mutant: `fields` that keeps nothing.
    @Test func decodesOnceForAllLaterReaders() async {
        let decodings = Atomic(0)
        let encoded = EncodedFields(bytes: [7], count: 1) { bytes in
            decodings.add(1, ordering: .relaxed)
            return [.eTag: "\"\(bytes[0])\""]
        }
        #expect(decodings.load(ordering: .relaxed) == 0)
        await withTaskGroup(of: HTTPFields.self) { group in
            for _ in 0..<30 { group.addTask { encoded.fields } }
            for await fields in group { #expect(fields == [.eTag: "\"7\""]) }
        }
        // Several first readers may decode, but none after them.
        let first = decodings.load(ordering: .relaxed)
        #expect((1...30).contains(first))
        for _ in 0..<10 { #expect(encoded.fields == [.eTag: "\"7\""]) }
        #expect(decodings.load(ordering: .relaxed) == first)
    }
}
