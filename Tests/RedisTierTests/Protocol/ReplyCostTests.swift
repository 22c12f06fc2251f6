import NIOCore
import TestSupport
import Testing

@testable import RedisTier

/// No reply holds an event loop for longer than ``ProcessorTime/limit`` at a time, whatever a
/// server sends within the limits.
@Suite(.timeLimit(.minutes(20)), .serialized) struct ReplyCostTests {
    private static let limits = RESPLimits()

    /// An aggregate of aggregates that has as many values as a reply may have.
    private static func nested(_ mark: Character, of value: String, values: Int) -> String {
        let inner = 65_000 / (mark == "%" ? 2 : 1)
        let count = limits.valueCount / (inner * values + 1)
        return "*\(count)\r\n"
            + String(repeating: "\(mark)\(inner)\r\n" + String(repeating: value, count: inner), count: count)
    }

    static let replies: [(String, String)] = [
        ("numbers", nested("*", of: ":1\r\n", values: 1)),
        ("empty strings", nested("*", of: "$0\r\n\r\n", values: 1)),
        ("a set of doubles", nested("~", of: ",1.5\r\n", values: 1)),
        ("maps", nested("%", of: "+a\r\n:1\r\n", values: 2)),
        ("one bulk string", "$\(limits.bulkLength)\r\n" + String(repeating: "a", count: limits.bulkLength) + "\r\n"),
        (
            "attributes",
            "*16\r\n"
                + String(
                    repeating: "|1000\r\n" + String(repeating: "+a\r\n:1\r\n", count: 1000) + ":1\r\n",
                    count: limits.attributeCount
                )
        ),
        ("short replies", String(repeating: ":1\r\n", count: 262_144)),
    ]

    /// - Parameter read: how many bytes one read of the socket brings.
    @Test(arguments: replies.map(\.0), [512, RedisConnection.longestRead])
    func oneReadIsShort(_ what: String, _ read: Int) async throws {
        let reply = try #require(Self.replies.first { $0.0 == what }).1
        let slow = try await ProcessorTime.stepsOverLimit { steps in
            var rest = ByteBuffer(string: reply)
            var parser = RESPParser()
            var messages = 0
            while let bytes = rest.readSlice(length: min(read, rest.readableBytes)), bytes.readableBytes > 0 {
                let time = try ProcessorTime.of {
                    parser.append(bytes)
                    while try parser.next() != nil { messages += 1 }
                }
                steps.add("\(what), \(read) bytes at a time", time)
            }
            #expect(messages > 0)
        }
        #expect(slow.isEmpty, "\(slow)")
    }
}
