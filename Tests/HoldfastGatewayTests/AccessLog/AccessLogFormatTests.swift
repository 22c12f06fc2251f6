import Foundation
import HTTPCacheSemantics
import HoldfastConfiguration
import HoldfastTesting
import NIOCore
import Testing

@testable import HoldfastGateway

/// Lines of the access log.
@Suite(.timeLimit(.minutes(20))) struct AccessLogFormatTests {
    private func line(_ entry: AccessLogEntry, _ settings: AccessLog.Settings = .init()) -> String {
        var (format, bytes) = (AccessLogFormat(), ByteBuffer())
        format.write(entry, settings, to: &bytes)
        return String(buffer: bytes)
    }

    private func object(_ line: String) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
        return try #require(object as? [String: Any])
    }

    private var hit: AccessLogEntry {
        var entry = AccessLogEntry()
        // 2026-10-10T13:55:36.123Z
        entry.time = Timestamp(milliseconds: 1_791_640_536_123)
        (entry.client, entry.protocolVersion, entry.method) = ("192.0.2.77", "1.1", "GET")
        (entry.authority, entry.target) = ("a.example", "/a?token=secret&b")
        (entry.status, entry.responseSize, entry.duration) = (200, 2326, .microseconds(123))
        (entry.route, entry.result, entry.cacheStatus) = ("api", .hit, "holdfast; hit; ttl=57")
        (entry.agent, entry.referer) = ("curl/8", "https://me:pass@b.example/page?q=1")
        entry.timeToLive = 57
        return entry
    }

    @Test func combinedHasTheCachesPartAtItsEnd() {
        #expect(
            line(hit) == #"192.0.2.77 - - [10/Oct/2026:13:55:36 +0000] "GET /a?token=*&* HTTP/1.1" 200 2326 "#
                + #""https://b.example/page?q=*" "curl/8" HIT 0.000123 api "holdfast; hit; ttl=57""# + "\n"
        )
        #expect(
            line(AccessLogEntry())
                == "- - - [01/Jan/1970:00:00:00 +0000] \"-\" 499 0 \"-\" \"-\" - 0.000000 - \"-\"\n"
        )
    }

    /// A client that left before the head has 499 instead.
    @Test func combinedNamesTheReasonOfAnAbort() {
        var entry = hit
        (entry.isAborted, entry.problem) = (true, "store-failed")
        #expect(line(entry).hasSuffix(#" "holdfast; hit; ttl=57" aborted=store-failed"# + "\n"))
        entry.status = nil
        #expect(line(entry).hasSuffix(#" "holdfast; hit; ttl=57""# + "\n"))
    }

    /// Mutant: `combined-line-of-a-problem-lacks-its-code`.
    @Test func combinedNamesTheProblem() {
        var entry = hit
        (entry.status, entry.problem, entry.cacheStatus) = (400, "tls", "holdfast; detail=refused")
        #expect(line(entry).hasSuffix(#" "holdfast; detail=refused" error=tls"# + "\n"))
    }

    @Test(arguments: [
        (0, 1, 0, "0"), (0, 7, 6, "0.000000"), (7, 2, 0, "07"), (-5, 1, 0, "-5"), (-5, 3, 0, "-005"),
        (1_234_567, 7, 6, "1.234567"), (12_345_678, 7, 6, "12.345678"),
        (.max, 1, 0, "9223372036854775807"), (.min, 1, 0, "-9223372036854775808"),
        (.max, 7, 6, "9223372036854.775807"),
    ])
    func numbersAreDecimal(number: Int64, digits: Int, decimals: Int, text: String) {
        var bytes = ByteBuffer()
        bytes.writeDecimal(number, digits: digits, decimals: decimals)
        #expect(String(buffer: bytes) == text)
    }

    @Test func jsonHasTheNamesOfConventions() throws {
        let object = try object(line(hit, .init(format: .json, query: .full, client: .masked)))
        #expect(object["time"] as? String == "2026-10-10T13:55:36.123Z")
        #expect(object["client.address"] as? String == "192.0.2.0")
        #expect(object["url.path"] as? String == "/a" && object["url.query"] as? String == "token=secret&b")
        #expect(object["http.response.status_code"] as? Int == 200 && object["cache.ttl"] as? Int == 57)
        #expect(object["duration"] as? Double == 0.000123 && object["cache.result"] as? String == "HIT")
        #expect(object["referer"] as? String == "https://b.example/page?q=1")
        #expect(object["aborted"] == nil && object["origin"] == nil)
    }

    @Test(arguments: [Configuration.Log.Format.combined, .json], [Configuration.Log.Client.full, .masked, .none])
    func preparedLinesAreThoseOfTheFormat(format: Configuration.Log.Format, client: Configuration.Log.Client) {
        let settings = AccessLog.Settings(level: .all, format: format, client: client)
        var (writer, bytes) = (AccessLogFormat(), ByteBuffer())
        let template = AccessLogTemplate(hit, settings, version: 0, &writer)
        var entry = hit
        for address in ["192.0.2.77", "2001:db8::7", "unix", nil, "", "\"\n] \\", String(repeating: "a", count: 999)] {
            for (time, duration) in [(1_791_640_536_999, 0), (-1, 1999), (1_791_640_537_000, 12_345_678_901_234)] {
                (entry.client, entry.time) = (address, Timestamp(milliseconds: Int64(time)))
                (entry.duration, entry.firstByte) = (.nanoseconds(Int64(duration)), .nanoseconds(Int64(duration)))
                let client = GatewayClient(address: address, tlsVersion: time < 0 ? "1.3" : nil)
                (entry.scheme, entry.tlsVersion) = (client.scheme, client.tlsVersion)
                let ordinal = time < 0 ? nil : ExchangeRecord.Ordinal(connection: 7, request: Int64(duration))
                (entry.connectionID, entry.connectionRequests) = (ordinal?.connection, ordinal?.request)
                let values = AccessLogTemplate.Values(
                    client: client,
                    time: entry.time,
                    duration: .nanoseconds(Int64(duration)),
                    ordinal: ordinal
                )
                bytes.clear()
                template.write(values, &writer, to: &bytes)
                #expect(String(buffer: bytes) == line(entry, settings))
            }
        }
    }

    @Test(arguments: [
        ("192.0.2.77", "192.0.2.0"), ("2001:db8:1:2::7", "2001:db8:1::"), ("::ffff:192.0.2.77", "192.0.2.0"),
        ("fe80::1%eth0", "fe80:0:0::"),
    ])
    func addressesAreMasked(address: String, masked: String) {
        #expect(LogClient.text(address, .masked) == masked)
        #expect(LogClient.text(address, .none) == nil && LogClient.text(address, .full) == address)
    }

    @Test(arguments: [
        ("a=1&b=2", "a=*&b=*"), ("TOKEN", "*"), ("a=1=2", "a=*"), ("a=", "a=*"), ("a&b=c;d", "*&b=*;*"), ("", ""),
        ("a=1?password=2#x=3", "a=*?password=*#x=*"), ("a%3Dsecret", "*"), ("&&", "&&"),
    ])
    func valuesOfQueriesAreHidden(query: String, hidden: String) {
        #expect(Redaction.valuesHidden(in: query.utf8) == hidden)
    }

    @Test func datesAreThoseOfTheCalendar() throws {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        var generator = SeededRandom(seed: 7)
        var dates = LogDates()
        let edges: [Int64] = [0, 951_782_399_999, 951_782_400_000, 4_107_542_400_000, 253_402_300_799_999]
        let others = (0..<2000).map { _ in Int64.random(in: 0...253_402_300_799_999, using: &generator) }
        for milliseconds in edges + others {
            var bytes = ByteBuffer()
            dates.writeRFC3339(Timestamp(milliseconds: milliseconds), to: &bytes)
            let date = try #require(formatter.date(from: String(buffer: bytes)), "\(String(buffer: bytes))")
            #expect(abs(date.timeIntervalSince1970 * 1000 - Double(milliseconds)) < 1)
        }
    }

    private static let hostile = [
        "a\r\nb", "\" - - \"", "\\", "\u{0}\u{1B}[31m\u{7F}", "\u{85}\u{2028}\u{2029}", "日本語😀", "x\tx",
        "\",\"http.response.status_code\":200,\"x\":\"", String(repeating: "\u{1}", count: 20_000),
        String(repeating: "😀", count: 9000), String(repeating: "a", count: 9000) + "\n",
    ]

    @Test(arguments: [Configuration.Log.Format.combined, .json], [Configuration.Log.Query.redacted, .full])
    func noTextEndsALine(format: Configuration.Log.Format, query: Configuration.Log.Query) throws {
        let settings = AccessLog.Settings(format: format, query: query)
        for seed in 0..<UInt64(100) {
            var generator = SeededRandom(seed: seed)
            func text() -> String {
                if Bool.random(using: &generator) { return Self.hostile.randomElement(using: &generator) ?? "" }
                let length = Int.random(in: 0...(Bool.random(using: &generator) ? 20 : 12_000), using: &generator)
                let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
                return String(decoding: bytes, as: UTF8.self)
            }
            func number() -> Int64 { Int64.random(in: .min ... .max, using: &generator) }
            var entry = AccessLogEntry(time: Timestamp(milliseconds: number()))
            (entry.client, entry.protocolVersion, entry.tlsVersion, entry.method) = (text(), text(), text(), text())
            (entry.scheme, entry.authority, entry.target) = (text(), text(), "/" + text() + "?" + text())
            (entry.requestSize, entry.status, entry.responseSize) = (number(), Int(number()), number())
            (entry.duration, entry.firstByte) = (.nanoseconds(number()), .nanoseconds(number()))
            (entry.route, entry.cacheStatus, entry.cacheID, entry.notStored) = (text(), text(), text(), text())
            (entry.age, entry.timeToLive, entry.isStored, entry.result) = (number(), number(), false, .revalidated)
            (entry.origin, entry.originStatus, entry.originDuration) = (text(), Int(number()), .nanoseconds(number()))
            (entry.isOriginReused, entry.problem, entry.isAborted, entry.requestID) = (true, text(), true, text())
            (entry.traceID, entry.spanID, entry.agent, entry.referer) = (text(), text(), text(), text())
            (entry.connectionID, entry.connectionRequests) = (number(), number())
            let line = line(entry, settings)
            #expect(line.utf8.count <= AccessLogFormat.lineLimit, "seed \(seed)")
            #expect(line.utf8.last == UInt8(ascii: "\n"), "seed \(seed)")
            #expect(line.utf8.dropLast().allSatisfy { (0x20..<0x7F).contains($0) }, "seed \(seed)")
            if format == .json {
                #expect(try object(line)["aborted"] as? Bool == true, "seed \(seed)")
                // As text: parsers of JSON may round numbers as large as these.
                let status = #""http.response.status_code":\#(entry.status ?? 0),"#
                #expect(line.contains(status), "seed \(seed): \(line.prefix(2000))")
            } else {
                // Eight quotes: of the request, the referer, the agent and the status of the cache.
                #expect(line.utf8.count { $0 == UInt8(ascii: "\"") } == 8, "seed \(seed): \(line)")
            }
        }
    }

    @Test func longTextsAreCutWithAMark() throws {
        var entry = hit
        entry.agent = String(repeating: "é", count: 5000)
        let combined = line(entry)
        #expect(combined.contains("\\xC3\\xA9...\" HIT"))
        let agent = try #require(try object(line(entry, .init(format: .json)))["user_agent.original"] as? String)
        #expect(agent.hasPrefix("éé") && agent.hasSuffix("é...") && agent.utf8.count < 1000)
    }
}
