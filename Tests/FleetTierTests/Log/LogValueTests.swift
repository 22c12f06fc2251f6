import HTTPCache
import HoldfastTesting
import Testing

@testable import FleetTier

@Suite(.timeLimit(.minutes(20))) struct LogValueTests {
    @Test(arguments: ["0-0", "1-2", "18446744073709551615-18446744073709551615", "5-0"])
    func positionsAreReadAsTheyAreWritten(_ text: String) {
        #expect(LogPosition(text).map { "\($0)" } == text)
    }

    @Test(arguments: [
        "", "-", "1", "1-", "-1", "01-2", "1-02", "1-2-3", "+1-2", "1 -2", "1-2 ", "a-1", "18446744073709551616-1",
        "99999999999999999999999-1", "1--2", "１-2",
    ])
    func otherTextsAreNoPositions(_ text: String) {
        #expect(LogPosition(text) == nil)
    }

    @Test func positionsAreOrderedByEpochFirst() {
        #expect(LogPosition(epoch: 1, number: 9) < LogPosition(epoch: 2, number: 1))
        #expect(LogPosition(epoch: 2, number: 1) < LogPosition(epoch: 2, number: 2))
        #expect(LogPosition.zero < LogPosition(epoch: 0, number: 1))
    }

    @Test func timesAreMovedAndSaturate() {
        let time = EngineTime(milliseconds: 1000)
        #expect(time.adding(.milliseconds(-1500)).milliseconds == -500)
        #expect(time.adding(.seconds(Int64.max)).milliseconds == .max)
        #expect(time.adding(.seconds(Int64.min)).milliseconds == .min)
        #expect(EngineTime(milliseconds: .max).adding(.milliseconds(1)).milliseconds == .max)
    }

    // MARK: Epochs

    @Test func candidateIsTheTimeWithRandomBits() throws {
        var random = SeededRandom(seed: 1)
        let time = EngineTime(milliseconds: 1_767_225_600_000)
        let one = try #require(EpochOffer(above: 0, at: time, using: &random))
        let another = try #require(EpochOffer(above: 0, at: time, using: &random))
        #expect(one.candidate.number >> 20 == 1_767_225_600_000 && one.highestKnown == 0)
        #expect(one.candidate.number != another.candidate.number && one.candidate.name != another.candidate.name)
    }

    @Test(arguments: [
        0, 1, 1 << 20, 1_767_225_600_000 << 20, (1_767_225_600_000 << 20) + 0xF_FFFF, 1_900_000_000_000 << 20,
    ])
    func candidateExceedsAllThatIsKnown(_ known: UInt64) throws {
        var random = SeededRandom(seed: known)
        for time in [Int64.min, -1, 0, 1_767_225_600_000] {
            let time = EngineTime(milliseconds: time)
            let offer = try #require(EpochOffer(above: known, at: time, using: &random))
            #expect(offer.candidate.number > known && offer.highestKnown == known)
            let higher = try #require(EpochOffer(above: 3, exceeding: known, at: time, using: &random))
            #expect(higher.candidate.number > known && higher.highestKnown == 3)
        }
    }

    @Test func noCandidateExceedsTheHighest() {
        var random = SeededRandom(seed: 1)
        #expect(EpochOffer(above: .max, at: EngineTime(milliseconds: 0), using: &random) == nil)
        #expect(EpochOffer(above: 0, at: EngineTime(milliseconds: .max), using: &random) == nil)
    }

    @Test func namesAreReadAsTheyAreWritten() throws {
        var random = SeededRandom(seed: 1)
        let name = EpochName(using: &random)
        #expect(EpochName("\(name)") == name && "\(name)".count == 32)
        let purge = PurgeID(using: &random)
        #expect(PurgeID(purge.bytes) == purge && purge.bytes.count == 16)
        #expect(PurgeID((0..<16).map { UInt8($0) })?.description == "000102030405060708090a0b0c0d0e0f")
        for text in ["", "\(name)0", "\(name)".dropLast() + "G", "\(name)".dropLast() + "A"] as [String] {
            #expect(EpochName(text) == nil)
        }
        #expect(PurgeID(purge.bytes.dropLast()) == nil && PurgeID(purge.bytes + [0]) == nil)
    }

    // MARK: Nodes

    @Test(arguments: [("gw-1", true), ("a.b_c:9", true), ("", false), ("a b", false), ("ä", false), ("a/b", false)])
    func namesHaveLettersAndDigits(_ text: String, _ isName: Bool) {
        #expect((NodeName(text) != nil) == isName)
        #expect((FleetNamespace(text) != nil) == (isName && !text.contains(":")))
    }

    @Test func namesAreShort() {
        #expect(NodeName(String(repeating: "a", count: 64)) != nil)
        #expect(NodeName(String(repeating: "a", count: 65)) == nil)
        #expect(FleetNamespace(String(repeating: "a", count: 65)) == nil)
    }

    @Test func reportsAreReadAsTheyAreWritten() throws {
        var random = SeededRandom(seed: 1)
        let identity = NodeIdentity(store: PurgeID(using: &random), process: 5)
        var report = NodeReport(
            identity: identity,
            name: try #require(NodeName("gw-1")),
            applied: LogPosition(epoch: .max, number: .max),
            unpublished: .max,
            unopened: .max,
            version: "1.2 \n" + String(repeating: "x", count: 99)
        )
        #expect(report.version.utf8.count <= 32 && report.version.hasPrefix("1.2x"))
        #expect(NodeReport(identity: identity, encoded: report.encoded) == report)
        report.hasEnded = true
        #expect(NodeReport(identity: identity, encoded: report.encoded) == report)
        for text in [
            "", "2", "1 gw 0-0 0 0 up 1", "2 gw 0-0 0 up 1", "2 gw 0-0 0 0 up 1 1", "2 gw 00-0 0 0 up 1",
            "2 gw 0-0 -1 0 up 1", "2 gw 0-0 0 x up 1", "2 gw 0-0 0 0 down 1", "2 gw 0-0 0 0 up ä", "2  0-0 0 0 up 1",
            "2 g/w 0-0 0 0 up 1", "2 gw 0-0 0 0 up " + String(repeating: "1", count: 300),
        ] {
            #expect(NodeReport(identity: identity, encoded: text) == nil, "\(text)")
        }
    }

    @Test func identitiesHaveOneText() throws {
        var random = SeededRandom(seed: 1)
        for process in [0, 1, 1 << 63, UInt64.max, random.next()] {
            let identity = NodeIdentity(store: PurgeID(using: &random), process: process)
            #expect(NodeIdentity("\(identity)") == identity && "\(identity)".utf8.count == 49)
        }
        let store = String(repeating: "a", count: 32)
        for text in [
            "", store, "\(store).", "\(store).1", "\(store).000000000000000G", "A\(store.dropFirst()).0000000000000001",
            "\(store).0000000000000001.", "gw-1",
        ] {
            #expect(NodeIdentity(text) == nil, "\(text)")
        }
    }
}
