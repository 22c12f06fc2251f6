import CNGHTTP2
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Testing

@testable import HoldfastGateway

/// Mutants: an `age` that is replaced one byte further, fields that may be indexed.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2FieldListTests {
    private func list(_ fields: HTTPFields, age: Int64, rest: Int64, method: HTTPRequest.Method = .get)
        -> HTTP2FieldList
    {
        var fields = fields
        fields[.age] = String(age)
        let member = CacheOutcome(isHit: true, timeToLive: rest).cacheStatusMember(cache: "b; ttl=7")
        let head = GatewayResponseHead(
            response: HTTPResponse(status: .ok, headerFields: fields),
            facts: .relayed,
            via: "1.1 holdfast",
            cacheStatus: member.text,
            timeToLive: member.timeToLive
        )
        return HTTP2FieldList(head, ResponseContent(200, to: method, length: 2))
    }

    private func lines(_ list: HTTP2FieldList?) -> [String]? {
        list.map { list in
            let fields = HTTP2Fields(list)
            return (0..<fields.count).map { index in
                let field = fields.pointer[index]
                #expect(UInt32(field.flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0)
                let name = UnsafeBufferPointer(start: field.name, count: field.namelen)
                let value = UnsafeBufferPointer(start: field.value, count: field.valuelen)
                return String(decoding: name, as: UTF8.self) + ": " + String(decoding: value, as: UTF8.self)
            }
        }
    }

    @Test func writesAHead() {
        let fields: HTTPFields = [.contentType: "text/plain", .contentLength: "9", .literal("X-Broken"): "a"]
        let expected = [
            ":status: 200", "content-type: text/plain", "x-broken: a", "age: 3", "via: 1.1 holdfast",
            "cache-status: \"b; ttl=7\"; hit; ttl=57", "content-length: 2",
        ]
        #expect(lines(list(fields, age: 3, rest: 57)) == expected)
        // RFC 9110 §8.6: the length that a GET would have.
        #expect(lines(list(fields, age: 3, rest: 57, method: .head))?.contains("content-length: 9") == true)
    }

    @Test(arguments: [Int64(0), 9, 10, 99, 12345], [Int64(0), 7, 60, 1 << 31])
    func writesTheSameFieldsForAnotherTime(age: Int64, rest: Int64) {
        for fields: HTTPFields in [[:], [.contentType: "a"], [.literal("Link"): String(repeating: "x", count: 3000)]] {
            let first = list(fields, age: 0, rest: 60)
            #expect(first.isTimed)
            #expect(lines(first.at(age: age, timeToLive: rest)) == lines(list(fields, age: age, rest: rest)))
            #expect(first.at(age: age, timeToLive: rest)?.isTimed == false)
        }
    }

    @Test func interimResponsesHaveNoLength() {
        let head = HTTPResponse(
            status: .init(code: 103),
            headerFields: [.literal("Link"): "</a>", .contentLength: "3"]
        )
        #expect(lines(HTTP2FieldList(interim: head)) == [":status: 103", "link: </a>"])
    }
}
