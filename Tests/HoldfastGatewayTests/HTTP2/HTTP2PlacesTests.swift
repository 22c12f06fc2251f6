import Testing

@testable import HoldfastGateway

@Suite("Places for requests of HTTP/2")
struct HTTP2PlacesTests {
    @Test func keepsAPlaceAsLongAsItsWork() {
        let places = HTTP2Places(2)
        var held = (0..<2).map { _ in places.take() }
        let areAllTaken = held.allSatisfy { $0 != nil }
        #expect(areAllTaken)
        #expect(places.take() == nil)
        held.removeLast()
        held.append(places.take())
        let isFreeAgain = held.last.flatMap { $0 } != nil
        #expect(isFreeAgain)
        #expect(places.take() == nil)
    }
}
