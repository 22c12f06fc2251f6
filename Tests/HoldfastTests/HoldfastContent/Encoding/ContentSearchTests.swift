import HoldfastTesting
import NIOCore
import Testing

@testable import Holdfast
@testable import HoldfastContent

/// Searches for bytes in content that arrives in chunks.
@Suite(.timeLimit(.minutes(20))) struct ContentSearchTests {
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func findsTheSameAsASearchOfTheWholeContent(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var found = 0
        for _ in 0..<300 {
            // Few letters, so that the wanted bytes begin often and sometimes occur.
            let wanted = (0..<Int.random(in: 1...6, using: &random)).map { _ in UInt8.random(in: 0...1, using: &random)
            }
            let content = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...1, using: &random)
            }
            let end = content.indices.first { content[$0...].starts(with: wanted) }.map { $0 + wanted.count }
            var search = ContentSearch(for: wanted)
            var passed = 0
            var isFound = false
            while passed < content.count, !isFound {
                let count = Int.random(in: 1...min(9, content.count - passed), using: &random)
                isFound = search.finds(in: ByteBuffer(bytes: content[passed..<(passed + count)]))
                passed += count
                let isComplete = end.map { $0 <= passed } ?? false
                #expect(isFound == isComplete, "seed \(seed): \(wanted) in \(content) after \(passed)")
            }
            if isFound { found += 1 }
        }
        #expect(1..<300 ~= found)
    }

    @Test func emptyPatternIsNeverFound() {
        var search = ContentSearch(for: [])
        let isFound = search.finds(in: ByteBuffer(string: "abc"))
        #expect(!isFound)
    }
}
