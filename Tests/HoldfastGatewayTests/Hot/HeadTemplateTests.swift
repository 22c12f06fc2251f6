import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Testing

@testable import HoldfastGateway

/// A head written for other seconds has the bytes of one made for them, whatever stands around the
/// numbers.
///
/// Mutants: `writeFields` that records a place one byte further, `HeadTemplate` that exchanges the
/// two numbers.
@Suite(.timeLimit(.minutes(20)))
struct HeadTemplateTests {
    private static let caches = ["holdfast", "edge-1", "b", "my cache; ttl=7", "Cache-Status: holdfast; hit; ttl=60"]
    private static let fields: [HTTPFields] = [
        [.age: "0", .contentType: "text/plain"],
        [.contentType: "text/plain", .age: "0"],
        [.age: "0", .cacheStatus: "holdfast; hit; ttl=60", .viaGateway: "1.1 other"],
        [.literal("Link"): String(repeating: "x", count: 2000), .age: "0"],
    ]

    private func head(_ fields: HTTPFields, cache: String, age: Int64, lifetime: Int64) -> GatewayResponseHead {
        var fields = fields
        fields[.age] = String(age)
        let member = CacheOutcome(isHit: true, timeToLive: lifetime - age).cacheStatusMember(cache: cache)
        return GatewayResponseHead(
            response: HTTPResponse(status: .ok, headerFields: fields),
            facts: .relayed,
            via: "1.1 holdfast",
            cacheStatus: member.text,
            timeToLive: member.timeToLive
        )
    }

    @Test(arguments: caches, fields.indices)
    func writesTheSameBytesForAnyCacheNameAndPlaceOfNumbers(cache: String, index: Int) throws {
        let framing = ResponseFraming(200, to: .get, minorVersion: 1, length: 2, isKeptAlive: true)
        for lifetime: Int64 in [60, 100, 1 << 31] {
            let first = head(Self.fields[index], cache: cache, age: 0, lifetime: lifetime)
            let (bytes, places) = framing.bytesAndOffsets(of: first)
            #expect(bytes == framing.bytes(of: first))
            let template = try #require(HeadTemplate(bytes, places))
            for age: Int64 in [0, 1, 9, 10, 59, lifetime] {
                let other = head(Self.fields[index], cache: cache, age: age, lifetime: lifetime)
                #expect(template.bytes(age: age, timeToLive: lifetime - age, room: 0) == framing.bytes(of: other))
            }
        }
    }

    @Test func headWithoutBothNumbersHasNoTemplate() {
        let framing = ResponseFraming(200, to: .get, minorVersion: 1, length: 2, isKeptAlive: true)
        var head = head([:], cache: "holdfast", age: 0, lifetime: 60)
        head.response.headerFields[.age] = nil
        let (bytes, places) = framing.bytesAndOffsets(of: head)
        #expect(places.age == nil)
        #expect(places.timeToLive != nil)
        #expect(HeadTemplate(bytes, places) == nil)
    }

    @Test(arguments: caches, [-7, 0, 60] as [Int64])
    func digitsOfTTLAreWhereTheMemberSays(cache: String, timeToLive: Int64) throws {
        let member = CacheOutcome(isHit: true, timeToLive: timeToLive).cacheStatusMember(cache: cache)
        let place = try #require(member.timeToLive)
        #expect(String(decoding: Array(member.text.utf8)[place], as: UTF8.self) == "\(timeToLive)")
        #expect(member.text == CacheOutcome(isHit: true, timeToLive: timeToLive).cacheStatus(cache: cache))
        #expect(CacheOutcome(isHit: true).cacheStatusMember(cache: cache).timeToLive == nil)
    }
}
