import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Testing

@testable import HoldfastControl

/// Ends of what operators set for a time.
@Suite(.timeLimit(.minutes(20))) struct EndTimeTests {
    /// 2026-11-25T13:30:00Z, which is 14:30 in Berlin.
    private let now = Timestamp(seconds: 1_795_613_400)

    private func berlin() throws -> TimeZone { try #require(TimeZone(identifier: "Europe/Berlin")) }

    @Test(arguments: [
        ("2026-11-25T14:00:00Z", 1_795_615_200_000), ("2026-11-25T15:00:00+01:00", 1_795_615_200_000),
        ("2026-11-25T09:00:00.250-05:00", 1_795_615_200_250), ("2026-11-25T14:00:00.2Z", 1_795_615_200_200),
        ("2026-11-25T14:00:00.2509999Z", 1_795_615_200_250), ("2028-02-29T00:00:00Z", 1_835_395_200_000),
        ("1969-12-31T23:59:59.999Z", -1),
    ])
    func readsInstantsByRFC3339(_ text: String, _ milliseconds: Int64) {
        #expect(EndTime.instant(text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        "", "14:00", "tomorrow", "2026-11-25", "2026-11-25T14:00:00", "2026-13-25T14:00:00Z", "2026-11-30T25:30:00Z",
        "2026-11-30T23:61:00Z", "2026-11-30T23:59:60Z", "2026-11-30T24:00:00Z", "2026-11-31T00:00:00Z",
        "2026-02-30T00:00:00Z", "2027-02-29T00:00:00Z", "2026-11-25T14:00:00+24:00", "2026-11-25T14:00:00+01:60",
        "2026-11-25T14:00:00Z ", "12026-11-25T14:00:00Z",
    ])
    func rejectsOtherInstants(_ text: String) { #expect(EndTime.instant(text) == nil) }

    @Test func readsExactlyTheInstantsThatExist() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        var random = SeededRandom(seed: 30)
        var read = 0
        for _ in 0..<20_000 {
            let parts = DateComponents(
                year: Int.random(in: 1970...2100, using: &random),
                month: Int.random(in: 0...13, using: &random),
                day: Int.random(in: 0...32, using: &random),
                hour: Int.random(in: 0...24, using: &random),
                minute: Int.random(in: 0...60, using: &random),
                second: Int.random(in: 0...60, using: &random)
            )
            let numbers = [parts.month, parts.day, parts.hour, parts.minute, parts.second].map {
                ($0 ?? 0) < 10 ? "0\($0 ?? 0)" : "\($0 ?? 0)"
            }
            let text =
                "\(parts.year ?? 0)-\(numbers[0])-\(numbers[1])T\(numbers[2]):\(numbers[3]):\(numbers[4])Z"
            let instant = EndTime.instant(text)
            #expect((instant != nil) == parts.isValidDate(in: calendar), "\(text)")
            if let instant {
                read += 1
                #expect(EndTime.text(instant) == text)
            }
        }
        #expect(read > 10_000 && read < 20_000)
    }

    @Test(arguments: [("90s", 90), ("30m", 1800), ("30 m", 1800), ("2h", 7200), ("7d", 604_800)])
    func readsDurations(_ text: String, _ seconds: Int64) { #expect(EndTime.duration(text) == .seconds(seconds)) }

    @Test(arguments: ["", "2", "h", "0h", "-2h", "2 hours", "1.5h", "9223372036854775807d"])
    func rejectsOtherDurations(_ text: String) { #expect(EndTime.duration(text) == nil) }

    @Test(arguments: [(172_800, "2d"), (129_600, "36h"), (5400, "90m"), (61, "61s"), (0, "0s")] as [(Int64, String)])
    func writesDurationsAsItReadsThem(_ seconds: Int64, _ text: String) {
        #expect(EndTime.text(seconds: seconds) == text)
        #expect(seconds == 0 || EndTime.duration(text) == .seconds(seconds))
    }

    @Test(arguments: [
        ("15:00", "2026-11-25T14:00:00Z"), ("14:00", "2026-11-26T13:00:00Z"), ("9:05:30", "2026-11-26T08:05:30Z"),
    ])
    func timeOfDayIsTheNextSuchMoment(_ text: String, _ expected: String) throws {
        let end = try #require(EndTime.timeOfDay(text, after: now, in: berlin()))
        #expect(EndTime.text(end) == expected)
    }

    @Test func timeOfDayThatTheZoneSkipsIsAfterTheGap() throws {
        // On 2027-03-28 the clocks of Berlin go from 02:00 to 03:00.
        let evening = try #require(EndTime.instant("2027-03-27T22:00:00Z"))
        let end = try #require(EndTime.timeOfDay("02:30", after: evening, in: berlin()))
        #expect(EndTime.text(end) == "2027-03-28T01:00:00Z")
    }

    @Test(arguments: ["", "24:00", "14:60", "14", "14:00:60", "2pm"]) func rejectsOtherTimesOfDay(_ text: String) {
        #expect(EndTime.timeOfDay(text, after: now) == nil)
    }
}

/// Switches of the mode, as clients send them.
@Suite(.timeLimit(.minutes(20))) struct ModeRequestTests {
    private let now = Timestamp(seconds: 1_795_613_400)

    private func temporary(_ json: String, configured: OfflineMode = .automatic) throws -> TemporaryMode? {
        try ModeRequest(json: Array(json.utf8)).temporaryMode(configured: configured, at: now, by: "uid 1")
    }

    @Test func namesAnEndByInstantOrLength() throws {
        let first = try temporary(#"{"mode": "offline", "until": "2026-11-25T14:00:00Z", "reason": "move"}"#)
        let second = try temporary(#"{"mode": "offline", "for": "30m", "reason": "move"}"#)
        let expected = TemporaryMode(
            .offline,
            until: now.adding(.seconds(1800)),
            since: now,
            reason: "move",
            client: "uid 1"
        )
        #expect(first == expected && second == expected)
    }

    @Test func configuredModeNeedsNoEnd() throws {
        #expect(try temporary(#"{"mode": "automatic"}"#) == nil)
        #expect(try temporary(#"{"mode": "offline"}"#, configured: .offline) == nil)
    }

    @Test(arguments: [
        (#"{}"#, "mode", "missing"), (#"{"mode": "away"}"#, "mode", "preferStored"),
        (#"{"mode": "offline"}"#, "until", "needs an end"),
        (#"{"mode": "offline", "until": "soon"}"#, "until", "RFC 3339"),
        (#"{"mode": "offline", "until": "2026-11-25T25:30:00Z"}"#, "until", "that exists"),
        (#"{"mode": "offline", "until": "2026-11-25T13:30:00Z"}"#, "until", "is in the past"),
        (#"{"mode": "offline", "until": "2027-11-25T13:30:00Z"}"#, "until", "30 days"),
        (#"{"mode": "offline", "for": "31d"}"#, "for", "30 days"), (#"{"mode": "offline", "for": "x"}"#, "for", "2h"),
        (#"{"mode": "offline", "for": "1h", "until": "2026-11-25T14:00:00Z"}"#, "for", "both"),
        (#"{"mode": "offline", "for": 3}"#, "for", "must be text"),
        (#"{"mode": "offline", "end": "1h"}"#, "end", "'until'"),
        (#"{"mode": "offline", "for": "1h", "reason": "a\nb"}"#, "reason", "control character"),
    ])
    func rejectsOtherSwitches(_ json: String, _ field: String, _ text: String) throws {
        let problem = try #require(throws: ControlProblem.self) { try temporary(json) }
        #expect(problem.status == 400 && problem.field == field && problem.detail.contains(text), "\(problem)")
    }
}

/// Extensions of staleness, as clients send them.
@Suite(.timeLimit(.minutes(20))) struct StalenessRequestTests {
    private let now = Timestamp(seconds: 1_795_613_400)

    private func temporary(_ json: String) throws -> TemporaryStaleness {
        try StalenessRequest(json: Array(json.utf8)).temporaryStaleness(at: now, by: "uid 1")
    }

    @Test func namesALengthAndAnEnd() throws {
        let first = try temporary(#"{"staleness": "2d", "until": "2026-11-25T14:00:00Z", "reason": "outage"}"#)
        let second = try temporary(#"{"staleness": "48h", "for": "30m", "reason": "outage"}"#)
        let expected = TemporaryStaleness(
            StalenessExtension(seconds: 172_800),
            until: now.adding(.seconds(1800)),
            since: now,
            reason: "outage",
            client: "uid 1"
        )
        #expect(first == expected && second == expected)
        let report = StalenessReport(StalenessState(configured: .none, temporary: first))
        #expect(report.staleness == "2d" && report.seconds == 172_800 && report.until == "2026-11-25T14:00:00Z")
        let none = StalenessReport(StalenessState(configured: .none))
        #expect(none.staleness == "configured" && none.seconds == nil && none.until == nil)
    }

    @Test(
        arguments: [
            (#"{}"#, "staleness", "missing", nil), (#"{"staleness": "long"}"#, "staleness", "2d", nil),
            (#"{"staleness": "0d", "for": "1h"}"#, "staleness", "2d", nil),
            (#"{"staleness": 2, "for": "1h"}"#, "staleness", "must be text", nil),
            (#"{"staleness": "366d", "for": "1h"}"#, "staleness", "365 days", 365),
            (#"{"staleness": "2d"}"#, "until", "needs an end", nil),
            (#"{"staleness": "2d", "until": "soon"}"#, "until", "RFC 3339", nil),
            (#"{"staleness": "2d", "until": "2026-11-25T13:30:00Z"}"#, "until", "is in the past", nil),
            (#"{"staleness": "2d", "for": "31d"}"#, "for", "30 days", 30),
            (#"{"staleness": "2d", "for": "1h", "until": "2026-11-25T14:00:00Z"}"#, "for", "both", nil),
            (#"{"staleness": "2d", "for": "1h", "mode": "offline"}"#, "mode", "'until'", nil),
        ] as [(String, String, String, Int?)]
    )
    func rejectsOtherExtensions(_ json: String, _ field: String, _ text: String, _ limit: Int?) throws {
        let problem = try #require(throws: ControlProblem.self) { try temporary(json) }
        #expect(problem.status == 400 && problem.field == field && problem.detail.contains(text), "\(problem)")
        #expect(problem.limit == limit)
    }
}
