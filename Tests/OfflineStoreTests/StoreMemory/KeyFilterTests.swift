import Testing

@testable import OfflineStore
@testable import StoreFiles
@testable import StoreMemory

@Suite(.timeLimit(.minutes(20))) struct KeyFilterTests {
    /// Spreads numbers as the hash of keys does.
    private static func hash(_ number: Int) -> Int64 {
        Int64(bitPattern: XXHash64.hash(withUnsafeBytes(of: number.littleEndian) { Array($0) }))
    }

    /// A filter of so many keys, built once.
    private static func built(_ keys: Range<Int>, bytes: Int = 4096) -> KeyFilter {
        let filter = KeyFilter(bytes: bytes)
        filter.beginBuilding()
        filter.add(keys.map(hash))
        filter.endBuilding()
        return filter
    }

    @Test(arguments: [(0, 64), (1, 64), (64, 64), (71, 64), (72, 72), (4096, 4096)])
    func sizeIsWholeWordsAndAtLeastEight(_ bytes: Int, _ expected: Int) {
        #expect(KeyFilter(bytes: bytes).bytes == expected)
    }

    @Test func everyKeyMayBeStoredUntilAllWereRead() {
        let filter = KeyFilter(bytes: 4096)
        #expect(!filter.isWhole && filter.mayContain(Self.hash(1)))
        filter.beginBuilding()
        filter.add([Self.hash(2)])
        #expect(!filter.isWhole && filter.mayContain(Self.hash(1)))
        filter.endBuilding()
        #expect(filter.isWhole && !filter.mayContain(Self.hash(1)) && filter.mayContain(Self.hash(2)))
    }

    @Test func noStoredKeyIsDeniedAndFewOthersAreNot() {
        // Sixteen bits for each key, as in a store.
        let filter = Self.built(0..<2000, bytes: 4000)
        #expect((0..<2000).allSatisfy { filter.mayContain(Self.hash($0)) })
        let mistaken = (2000..<12_000).count { filter.mayContain(Self.hash($0)) }
        #expect(mistaken < 500, "\(mistaken) of 10000")
    }

    /// The extreme hashes are in the first and the last word.
    @Test(arguments: [Int64.min, -1, 0, 1, .max]) func extremeHashesAreFound(_ hash: Int64) {
        let filter = KeyFilter(bytes: 64)
        filter.beginBuilding()
        filter.endBuilding()
        #expect(!filter.mayContain(hash))
        filter.insert(hash)
        #expect(filter.mayContain(hash))
    }

    @Test func removedKeyStaysUntilItIsBuiltAgain() {
        let filter = Self.built(0..<2)
        _ = filter.noteRemoval()
        #expect(filter.mayContain(Self.hash(1)))
        filter.beginBuilding()
        #expect(filter.mayContain(Self.hash(1)), "the former filter answers meanwhile")
        filter.add([Self.hash(0)])
        filter.endBuilding()
        #expect(filter.mayContain(Self.hash(0)) && !filter.mayContain(Self.hash(1)))
    }

    @Test(arguments: [false, true]) func keyInsertedWhileBuildingIsFoundAtOnceAndAfterwards(isFirst: Bool) {
        let filter = isFirst ? KeyFilter(bytes: 4096) : Self.built(0..<1)
        filter.beginBuilding()
        filter.insert(Self.hash(7))
        #expect(filter.mayContain(Self.hash(7)))
        filter.endBuilding()
        #expect(filter.mayContain(Self.hash(7)))
    }

    @Test func abandonedBuildingLeavesTheFormerFilter() {
        let filter = Self.built(0..<1)
        filter.beginBuilding()
        filter.insert(Self.hash(7))
        filter.add([Self.hash(8)])
        filter.abandonBuilding()
        #expect(filter.isWhole && filter.mayContain(Self.hash(0)) && filter.mayContain(Self.hash(7)))
        #expect(!filter.mayContain(Self.hash(8)))
    }

    @Test func abandonedFirstBuildingLeavesEveryKeyPossible() {
        let filter = KeyFilter(bytes: 64)
        filter.beginBuilding()
        filter.abandonBuilding()
        #expect(!filter.isWhole && filter.mayContain(Self.hash(1)))
    }

    /// One removal for each word, and at least 1,024.
    @Test(arguments: [(64, 1025), (8192, 1025), (16_384, 2049)])
    func asksToBeBuiltAgainAfterManyRemovals(_ bytes: Int, _ expected: Int) {
        #expect(removals(of: bytes) == expected)
    }

    private func removals(of bytes: Int) -> Int {
        let filter = Self.built(0..<1, bytes: bytes)
        return (1...10_000).first { _ in filter.noteRemoval() } ?? 0
    }

    @Test func asksForNothingBeforeItIsWholeOrWhileItIsBuilt() {
        let first = KeyFilter(bytes: 64)
        #expect(!(0..<3000).contains { _ in first.noteRemoval() })
        let filter = Self.built(0..<1, bytes: 64)
        filter.beginBuilding()
        #expect(!(0..<3000).contains { _ in filter.noteRemoval() })
        filter.abandonBuilding()
        #expect(filter.noteRemoval(), "it asks again after a failed attempt")
    }

    @Test func thirtyWritersLoseNoKey() async {
        let filter = Self.built(0..<0, bytes: 32_768)
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<30 {
                group.addTask { for number in 0..<200 { filter.insert(Self.hash(writer * 1000 + number)) } }
            }
        }
        let numbers = (0..<30).flatMap { writer in (0..<200).map { writer * 1000 + $0 } }
        #expect(numbers.allSatisfy { filter.mayContain(Self.hash($0)) })
        // A key that was never inserted shows that the filter says more than "maybe".
        #expect((100_000..<101_000).contains { !filter.mayContain(Self.hash($0)) })
    }
}
