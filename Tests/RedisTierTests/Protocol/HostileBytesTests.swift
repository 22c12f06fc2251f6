import NIOCore
import Testing

@testable import RedisTier

/// Bytes that a faulty or hostile server may send.
@Suite(.timeLimit(.minutes(20))) struct HostileBytesTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: String
        var code: RedisTierError.Code
        var limits: RESPLimits

        init(_ bytes: String, _ code: RedisTierError.Code, _ change: (inout RESPLimits) -> Void = { _ in }) {
            self.bytes = bytes
            self.code = code
            limits = RESPLimits()
            change(&limits)
        }

        var testDescription: String { "\(bytes.prefix(40).debugDescription) \(code)" }
    }

    static let cases: [Case] = [
        // Lengths and counts.
        Case("$1048577\r\n", .limit(.bulkLength)),
        Case("!1048577\r\n", .limit(.bulkLength)),
        Case("=1048577\r\n", .limit(.bulkLength)),
        Case("$9999999999\r\n", .limit(.bulkLength)),
        Case("$99999999999\r\n", .malformed),
        Case("$18446744073709551617\r\n", .malformed),
        Case("$-2\r\n", .malformed),
        Case("$+5\r\n", .malformed),
        Case("$\r\n", .malformed),
        Case("$ 5\r\n", .malformed),
        Case("$5a\r\n", .malformed),
        Case("$?\r\n", .malformed),
        Case("*?\r\n", .malformed),
        Case("*-2\r\n", .malformed),
        Case("%-1\r\n", .malformed),
        Case("~-1\r\n", .malformed),
        Case(">-1\r\n", .malformed),
        Case("!-1\r\n", .malformed),
        Case("*1000000000\r\n", .limit(.aggregateCount)),
        Case("*65537\r\n", .limit(.aggregateCount)),
        Case("%32769\r\n", .limit(.aggregateCount)),
        Case("%9999999999\r\n", .limit(.aggregateCount)),
        Case("|32769\r\n", .limit(.aggregateCount)),
        Case(String(repeating: "*1\r\n", count: 9), .limit(.depth)),
        Case(String(repeating: "%1\r\n+a\r\n", count: 9), .limit(.depth)),
        Case(String(repeating: "|1\r\n", count: 9), .limit(.depth)),
        Case("*4\r\n*4\r\n*3\r\n", .limit(.valueCount)) { $0.valueCount = 10 },
        Case(String(repeating: "|0\r\n", count: 17), .limit(.attributeCount)),
        Case("*2\r\n$40\r\n\(String(repeating: "a", count: 40))\r\n$40\r\n", .limit(.replyLength)) {
            $0.replyLength = 90
        },
        Case(
            "*9\r\n+\(String(repeating: "a", count: 30))\r\n+\(String(repeating: "a", count: 30))\r\n",
            .limit(.replyLength)
        ) {
            $0.replyLength = 60
        },
        Case("|1\r\n$5\r\naaaaa\r\n$60\r\n", .limit(.replyLength)) { $0.replyLength = 60 },
        // Lines.
        Case("+" + String(repeating: "a", count: 4097), .limit(.lineLength)),
        Case("-" + String(repeating: "a", count: 4097), .limit(.lineLength)),
        Case("(" + String(repeating: "1", count: 4097), .limit(.lineLength)),
        Case(":" + String(repeating: "0", count: 65), .limit(.lineLength)),
        Case("$" + String(repeating: "0", count: 65), .limit(.lineLength)),
        Case("+a\n", .malformed),
        Case("+a\rb\r\n", .malformed),
        Case("+a\r\r\n", .malformed),
        Case(":1\n", .malformed),
        // Strings that are not as long as announced.
        Case("$3\r\nabcd\r\n", .malformed),
        Case("$3\r\nab\r\n+", .malformed),
        Case("$3\r\nabc\n\r", .malformed),
        Case("=3\r\ntxt\r\n", .malformed),
        Case("=4\r\ntxt-\r\n", .malformed),
        Case("=0\r\n\r\n", .malformed),
        // Values.
        Case(":\r\n", .malformed),
        Case(":-\r\n", .malformed),
        Case(":1.5\r\n", .malformed),
        Case(":--1\r\n", .malformed),
        Case(":9223372036854775808\r\n", .malformed),
        Case(":-9223372036854775809\r\n", .malformed),
        Case("#\r\n", .malformed),
        Case("#x\r\n", .malformed),
        Case("#tt\r\n", .malformed),
        Case("_x\r\n", .malformed),
        Case(",\r\n", .malformed),
        Case(",0x10\r\n", .malformed),
        Case(",infinity\r\n", .malformed),
        Case(",1e\r\n", .malformed),
        Case(",e\r\n", .malformed),
        Case(",1 \r\n", .malformed),
        Case("(\r\n", .malformed),
        Case("(12a\r\n", .malformed),
        Case("(+-1\r\n", .malformed),
        // Pushes.
        Case(">0\r\n", .malformed),
        Case("*1\r\n>1\r\n+a\r\n", .malformed),
        Case("|1\r\n>1\r\n+a\r\n", .malformed),
        // Other protocols, and none.
        Case("HTTP/1.1 400 Bad Request\r\n", .malformed),
        Case("\r\n", .malformed),
        Case("\0", .malformed),
        Case(";4\r\nabcd\r\n", .malformed),
        Case("\u{16}\u{3}\u{1}", .malformed),
    ]

    @Test(arguments: cases) func isAnErrorHoweverItIsCut(_ sample: Case) {
        let bytes = Array(sample.bytes.utf8)
        // Behind an error nothing is read, however good it is.
        let good = Array("+OK\r\n".utf8)[...]
        for cut in bytes.count > 200 ? [0, 1, bytes.count / 2] : Array(0...bytes.count) {
            let result = Parsed([bytes[..<cut], bytes[cut...], good], limits: sample.limits)
            #expect(result.error?.code == sample.code && result.messages.isEmpty, "cut at \(cut)")
        }
    }

    @Test(arguments: cases) func staysAnError(_ sample: Case) {
        var parser = RESPParser(limits: sample.limits)
        parser.append(ByteBuffer(string: sample.bytes))
        let first = code(&parser)
        parser.append(ByteBuffer(string: "+OK\r\n"))
        #expect(first == sample.code)
        #expect(code(&parser) == first)
        #expect(parser.undecodedCount == 0)
    }

    /// Each limit has a case, and the message names it.
    @Test(arguments: RESPLimits.Kind.allCases) func limitIsNamed(_ kind: RESPLimits.Kind) throws {
        let sample = try #require(Self.cases.first { $0.code == .limit(kind) })
        let error = Parsed([Array(sample.bytes.utf8)], limits: sample.limits).error
        #expect(error?.message.contains("'\(kind.rawValue)' of \(sample.limits[kind])") == true)
    }

    /// A value at each limit is accepted.
    @Test func valuesAtTheLimitsAreAccepted() {
        let limits = RESPLimits()
        let line = String(repeating: "a", count: limits.lineLength)
        let bulk = String(repeating: "b", count: limits.bulkLength)
        let nested = String(repeating: "*1\r\n", count: limits.depth) + ":1\r\n"
        let many = "*\(limits.aggregateCount)\r\n" + String(repeating: "_\r\n", count: limits.aggregateCount)
        let attributes = String(repeating: "|0\r\n", count: limits.attributeCount) + ":1\r\n"
        // The counts are for one reply each.
        let texts = ["+\(line)\r\n", "$\(bulk.utf8.count)\r\n\(bulk)\r\n", nested, many, attributes, many, attributes]
        let result = Parsed(texts.map { Array($0.utf8) })
        #expect(result.error == nil)
        #expect(result.messages.count == texts.count)
    }

    private func code(_ parser: inout RESPParser) -> RedisTierError.Code? {
        do throws(RedisTierError) {
            while try parser.next() != nil {}
            return nil
        } catch {
            return error.code
        }
    }
}
