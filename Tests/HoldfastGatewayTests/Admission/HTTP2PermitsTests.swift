import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct HTTP2PermitsTests {
    @Test func keepsAPlaceAsLongAsItsWork() {
        let permits = HTTP2Permits(2, of: HTTP2RequestCount())
        var held = (0..<2).map { _ in permits.take(ofAll: 100) }
        let areAllTaken = held.allSatisfy { $0 != nil }
        #expect(areAllTaken)
        #expect(permits.take(ofAll: 100) == nil)
        held.removeLast()
        held.append(permits.take(ofAll: 100))
        let isFreeAgain = held.last.flatMap { $0 } != nil
        #expect(isFreeAgain)
        #expect(permits.take(ofAll: 100) == nil)
    }

    /// Together they have no more requests than there may be connections.
    @Test func allConnectionsShareTheLimitOfRequests() {
        let total = HTTP2RequestCount()
        let greedy = HTTP2Permits(100, of: total)
        var held = (0..<20).compactMap { _ in greedy.take(ofAll: 8) }
        // The last two are for connections that have none.
        #expect(held.count == 6)
        held += (0..<3).compactMap { _ in HTTP2Permits(100, of: total).take(ofAll: 8) }
        #expect(held.count == 8)
        held.removeFirst(3)
        held += (0..<20).compactMap { _ in greedy.take(ofAll: 8) }
        #expect(held.count == 6)
        held = []
        #expect(greedy.take(ofAll: 8) != nil)
    }
}
