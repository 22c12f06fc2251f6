import FleetTier
import HTTPCache
import HoldfastTesting
import NIOCore
import Testing

@testable import RedisTier

/// Replies of a server to which other programs write, too.
@Suite(.timeLimit(.minutes(20))) struct LogRepliesTests {
    private func entry(_ id: String, _ fields: [String]) -> RESPValue {
        .array([.bulk(id), .array(fields.map { .bulk($0) })])
    }

    private func contents(_ fields: [String]) throws -> [LogContent] {
        try LogReplies.range(.array([entry("5-1", fields)])).map(\.content)
    }

    private func fault<Value>(_ body: () throws(FleetLogError) -> Value) -> FleetLogError? {
        do throws(FleetLogError) {
            _ = try body()
            return nil
        } catch {
            return error
        }
    }

    @Test func entriesAreRead() throws {
        let name = "000102030405060708090a0b0c0d0e0f"
        let entries = RESPValue.array([
            entry("5-1", ["m", name, "i", "4-9", "t", "70"]), entry("5-2", ["p", "sealed", "t", "71"]),
        ])
        let marker = EpochMarker(name: try #require(EpochName(name)), inherited: LogPosition(epoch: 4, number: 9))
        let expected = [
            LogEntry(
                position: LogPosition(epoch: 5, number: 1),
                addedAt: EngineTime(milliseconds: 70),
                content: .marker(marker)
            ),
            LogEntry(
                position: LogPosition(epoch: 5, number: 2),
                addedAt: EngineTime(milliseconds: 71),
                content: .purge(Array("sealed".utf8))
            ),
        ]
        #expect(try LogReplies.range(entries) == expected)
        #expect(try LogReplies.read(.map([RESPEntry(key: .bulk("k"), value: entries)])) == expected)
        #expect(try LogReplies.read(.array([.array([.bulk("k"), entries])])) == expected, "RESP2")
        #expect(try LogReplies.read(.null) == [])
    }

    @Test(arguments: [
        [], ["p", "sealed"], ["t", "1"], ["t", "x", "p", "sealed"], ["t", "-1", "p", "sealed"],
        ["t", "18446744073709551615", "p", "sealed"], ["m", "short", "i", "", "t", "1"],
        ["m", "000102030405060708090a0b0c0d0e0f", "t", "1"],
        ["m", "000102030405060708090a0b0c0d0e0f", "i", "x", "t", "1"],
        ["m", "000102030405060708090a0b0c0d0e0f", "i", "", "t", "1", "p", "sealed"],
        ["p", String(repeating: "x", count: LogEntry.longestSealed + 1), "t", "1"], ["other", "field", "t", "1"],
    ])
    func foreignEntriesAreUnreadableAndHaveTheirPlace(_ fields: [String]) throws {
        #expect(try contents(fields) == [.unreadable])
    }

    @Test func otherFormsAreMalformed() {
        for reply: RESPValue in [
            .integer(1), .bulk("x"), .array([.bulk("5-1")]), .array([.array([.bulk("5-1")])]),
            .array([entry("x", [])]), .array([entry("05-1", [])]), .failed("ERR"),
        ] {
            guard case .malformed = fault({ () throws(FleetLogError) in try LogReplies.range(reply) }) else {
                Issue.record("\(reply)")
                continue
            }
        }
        for reply: RESPValue in [.array([]), .map([]), .array([.bulk("k"), .array([])]), .bulk("x")] {
            #expect(fault { () throws(FleetLogError) in try LogReplies.read(reply) } == .malformed("entries"))
        }
        for reply: RESPValue in [
            .null, .array([.bulk("1")]), .array([.bulk("x"), .bulk("y"), .array([])]),
            .array([.bulk("1"), .bulk("y"), .array([])]),
        ] {
            #expect(fault { () throws(FleetLogError) in try LogReplies.peek(reply) } == .malformed("the epoch"))
        }
    }

    @Test func repliesOfScriptsAreRead() throws {
        let name = "000102030405060708090a0b0c0d0e0f"
        let words = { (words: [String]) in RESPValue.array(words.map { .bulk($0) }) }
        #expect(try LogReplies.begin(words(["OK", "7", name])).number == 7)
        #expect(fault { () throws(FleetLogError) in try LogReplies.begin(words(["LOW", "9"])) } == .lowEpoch(9))
        #expect(try LogReplies.written(words(["OK", "1-2"])) == ["1-2"])
        #expect(fault { () throws(FleetLogError) in try LogReplies.written(words(["EPOCH"])) } == .wrongEpoch)
        for reply in [
            words([]), words(["NO"]), .null, .array([.integer(1)]), words(["LOW", "x"]), words(["OK", "7", "x"]),
        ] {
            guard case .malformed = fault({ () throws(FleetLogError) in try LogReplies.begin(reply) }) else {
                Issue.record("\(reply)")
                continue
            }
        }
    }

    @Test func timesAreRead() throws {
        #expect(try LogReplies.time(.array([.bulk("1700000000"), .bulk("123456")])).milliseconds == 1_700_000_000_123)
        for (seconds, micros) in [("x", "0"), ("-1", "0"), ("9223372036854775807", "0"), ("1", "1000000"), ("1", "-1")]
        {
            #expect(
                fault { () throws(FleetLogError) in try LogReplies.time(.array([.bulk(seconds), .bulk(micros)])) }
                    == .malformed("the time")
            )
        }
    }

    @Test func foreignRowsAreLeftOut() throws {
        func identity(_ number: Int) -> String { "\(NodeIdentity(store: .random(), process: UInt64(number)))" }
        let rows = [
            (identity(2), "2 gw-2 5-1 0 0 up 1.0 70"), (identity(1), "2 gw-1 5-2 3 4 ended 1.0 71"),
            ("gw-3", "2 gw-3 5-1 0 0 up 1.0 70"), (identity(4), "2 gw-4 5-1 0 0 up 1.0"),
            (identity(5), "3 gw-5 5-1 0 0 up 1.0 70"), (identity(6), "2 gw-6 5-1 0 0 up 1.0 x"), (identity(7), ""),
            (identity(8), "2 gw-8 5-1 0 0 up 1.0 " + String(repeating: "7", count: 300)),
            ("gw-9", "1 5-1 0 1.0 70"),
        ]
        let map = RESPValue.map(rows.map { RESPEntry(key: .bulk($0.0), value: .bulk($0.1)) })
        let array = RESPValue.array(rows.flatMap { [.bulk($0.0), .bulk($0.1)] })
        for reply in [map, array] {
            let read = try LogReplies.rows(reply)
            #expect(read.map(\.report.name.text) == ["gw-1", "gw-2"])
            #expect(read.map(\.seenAt.milliseconds) == [71, 70] && read[0].report.unpublished == 3)
            #expect(read.map(\.report.hasEnded) == [true, false] && read[0].report.unopened == 4)
        }
        #expect(fault { () throws(FleetLogError) in try LogReplies.rows(.bulk("x")) } == .malformed("the rows"))
    }

    /// As computed with `printf 'return 1' | sha1sum`.
    @Test func scriptsAreCalledByTheirDigest() {
        let script = RedisScript("return 1")
        let command = script.command(isLoaded: true, keys: ["k"], ["a"])
        guard case .text(let digest) = command.arguments[0] else { return _ = Issue.record("no digest") }
        #expect(digest == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" && command.arguments.count == 4)
    }
}
