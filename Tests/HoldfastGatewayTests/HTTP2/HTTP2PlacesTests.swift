import Testing

@testable import HoldfastGateway

@Suite("Places for requests of HTTP/2", .timeLimit(.minutes(20)))
struct HTTP2PlacesTests {
    @Test func keepsAPlaceAsLongAsItsWork() {
        let places = HTTP2Places(2, of: HTTP2RequestCount())
        var held = (0..<2).map { _ in places.take(ofAll: 100) }
        let areAllTaken = held.allSatisfy { $0 != nil }
        #expect(areAllTaken)
        #expect(places.take(ofAll: 100) == nil)
        held.removeLast()
        held.append(places.take(ofAll: 100))
        let isFreeAgain = held.last.flatMap { $0 } != nil
        #expect(isFreeAgain)
        #expect(places.take(ofAll: 100) == nil)
    }

    @Test("All connections together have no more requests than there may be connections")
    func boundsAllConnections() {
        let total = HTTP2RequestCount()
        let greedy = HTTP2Places(100, of: total)
        var held = (0..<20).compactMap { _ in greedy.take(ofAll: 8) }
        // The last two are for connections that have none.
        #expect(held.count == 6)
        held += (0..<3).compactMap { _ in HTTP2Places(100, of: total).take(ofAll: 8) }
        #expect(held.count == 8)
        held.removeFirst(3)
        held += (0..<20).compactMap { _ in greedy.take(ofAll: 8) }
        #expect(held.count == 6)
        held = []
        #expect(greedy.take(ofAll: 8) != nil)
    }
}
