import FleetTier
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore
import Testing

@testable import RedisTier

/// Numbers that a server states, at the limits of integers: lengths and counts of RESP, and the
/// times, epochs, positions, slots and ports in replies. A trap ends the tests. docs/attacks.md, 75
@Suite(.timeLimit(.minutes(20)))
struct StatedNumberTests {
    private static let numbers = [
        "0", "1", "2147483647", "2147483648", "2147483649", "4294967296", "9007199254740991", "9007199254740992",
        "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "-1", "-2147483649", "-9223372036854775808", "-9223372036854775809",
    ]

    @Test(arguments: ["$", "!", "=", "*", "%", "~", ">", "|", ":", ",", "(", "#"])
    func everyTypeAtEveryCut(_ type: String) {
        for number in Self.numbers {
            for rest in ["", "a", "+a\r\n", "txt:a\r\n"] {
                let bytes = Array("\(type)\(number)\r\n\(rest)".utf8)
                for cut in 0...bytes.count {
                    var parser = RESPParser()
                    parser.append(ByteBuffer(bytes: bytes[..<cut]))
                    let first = try? parser.next()
                    parser.append(ByteBuffer(bytes: bytes[cut...]))
                    if first == nil { _ = try? parser.next() }
                    // Nothing is reserved for what is only announced.
                    #expect(parser.undecodedCount <= bytes.count)
                }
            }
        }
    }

    private static func text(_ text: String) -> RESPValue { .bulkString(ByteBuffer(string: text)) }

    private static func replies(_ number: String) -> [RESPValue] {
        let text = text(number)
        let values: [RESPValue] = Int64(number).map { [text, .integer($0)] } ?? [text]
        return values.flatMap { value -> [RESPValue] in
            let entry = RESPValue.array([
                Self.text("\(number)-\(number)"), .array([Self.text("t"), value, Self.text("p"), Self.text("x")]),
            ])
            return [
                value, .array([value]), .array([value, value]), .array([value, value, value]), .array([entry]),
                .array([Self.text("LOW"), value]),
                .array([Self.text("OK"), value, Self.text("00000000000000000000000000000000")]),
                .array([value, Self.text("00000000000000000000000000000000"), .array([entry])]),
                .array([.array([Self.text("stream"), .array([entry])])]),
                .array([Self.text("node"), Self.text("1 \(number)-\(number) \(number) v \(number)")]),
                .array([.array([value, value, .array([Self.text("127.0.0.1"), value])])]),
                .error(RESPServerError("MOVED \(number) 127.0.0.1:\(number)")),
            ]
        }
    }

    @Test func repliesOfAnyNumber() throws {
        let source = RedisEndpoint.tcp(host: "127.0.0.1", port: 1)
        for number in Self.numbers {
            for reply in Self.replies(number) {
                _ = try? LogReplies.read(reply)
                _ = try? LogReplies.range(reply)
                _ = try? LogReplies.peek(reply)
                _ = try? LogReplies.written(reply)
                _ = try? ValueReplies.flag(reply)
                _ = try? ClusterMap(reply, from: source)
                _ = Redirection(reply, from: source)
                if let time = try? LogReplies.time(reply) { #expect(time.milliseconds <= 1 << 51) }
                for row in (try? LogReplies.rows(reply)) ?? [] {
                    for now: Int64 in [.min, -1, 0, 1, .max] {
                        let now = EngineTime(milliseconds: now)
                        #expect(now.elapsedMilliseconds(since: row.seenAt) <= Int64.max)
                        _ = row.seenAt.adding(.seconds(5))
                    }
                }
                do { _ = try LogReplies.begin(reply) } catch FleetLogError.lowEpoch(let highest) {
                    var generator = SeededRandom(seed: 1)
                    for time: Int64 in [.min, 0, 1 << 40, .max] {
                        let offer = EpochOffer(
                            above: highest,
                            exceeding: highest,
                            at: EngineTime(milliseconds: time),
                            using: &generator
                        )
                        #expect(offer.map { $0.candidate.number > highest } ?? true)
                    }
                } catch {}
            }
        }
    }

    @Test func instantsOfAnEngineSaturate() {
        let ends: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 53, .max - 1, .max]
        for first in ends {
            for second in ends {
                let (one, other) = (EngineTime(milliseconds: first), EngineTime(milliseconds: second))
                let distance = one.elapsedMilliseconds(since: other)
                #expect((distance > 0) == (first > second) && (distance == 0) == (first == second))
                #expect(one.adding(milliseconds: second).milliseconds >= (second < 0 ? .min : first))
                _ = EngineOffset(milliseconds: first).engineTime(.init(milliseconds: second))
                _ = EngineOffset(milliseconds: first).timestamp(other)
            }
        }
    }
}
