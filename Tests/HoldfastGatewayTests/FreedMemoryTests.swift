import Testing

@testable import HoldfastGateway

/// When memory that was freed goes back to the system.
@Suite(.timeLimit(.minutes(20))) struct FreedMemoryTests {
    private static let mib = 1 << 20

    /// Whether memory is due at each check, in order.
    private func due(_ looks: [(content: Int, peak: Int, connections: Int)]) -> [Bool] {
        var freed = FreedMemory()
        return looks.map {
            freed.isDue(
                content: $0.content * Self.mib,
                contentPeak: $0.peak * Self.mib,
                connections: $0.connections
            )
        }
    }

    /// Mutant: memory is never given back.
    @Test func isGivenBackOnceWhenMostOfItIsFree() {
        let looks = [(0, 0, 10), (100, 100, 1000), (90, 100, 1000), (0, 90, 10), (0, 0, 10)]
        #expect(due(looks) == [false, false, false, true, false])
    }

    @Test func peakBetweenTwoLooksCounts() { #expect(due([(0, 33, 0)]) == [true]) }

    @Test func connectionsThatLeftCount() { #expect(due([(0, 0, 3000), (0, 0, 0)]) == [false, true]) }

    @Test func littleMemoryIsKept() { #expect(due([(31, 31, 0), (0, 0, 0)]) == [false, false]) }

    #if canImport(Glibc)
        @Test func allocatorCanBeAsked() { #expect(MemoryReturn.trim()) }
    #endif
}
