import HTTPCacheSemantics
import Testing

@testable import OfflineStore

/// Tests the state that separates a disk that accepts no writes from one that does.
@Suite(.timeLimit(.minutes(20))) struct WritingTroubleTests {
    private let start = Timestamp(seconds: 1000)

    private func at(_ milliseconds: Int64) -> Timestamp { start.adding(milliseconds: milliseconds) }

    private func failed(_ bytes: Int64 = 100_000, free: Int64? = 0, times: Int = 1) -> WritingTrouble {
        var trouble = WritingTrouble()
        for _ in 0..<times { trouble.recordFailure(bytes: bytes, free: free, at: start) }
        return trouble
    }

    @Test func acceptsUntilSomethingFails() {
        var trouble = WritingTrouble()
        #expect(trouble.isOver)
        #expect(trouble.admit(free: 0, at: start) == .accept)
        trouble.recordSuccess(bytes: 1)
        #expect(trouble.isOver)
    }

    @Test func declinesWhileThereIsNoSpaceForTheFailedBytes() {
        var trouble = failed()
        let room: Int64 = 2 * 100_000 + 262_144
        #expect(trouble.admit(free: 0, at: at(1)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: room - 1, at: at(2)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: room, at: at(3)) == .accept)
        // It ends when as many bytes were written as failed, and not before.
        trouble.recordSuccess(bytes: 99_999)
        #expect(!trouble.isOver)
        trouble.recordSuccess(bytes: 100_000)
        #expect(trouble.isOver)
        #expect(trouble.admit(free: 0, at: at(4)) == .accept)
    }

    @Test func knowsThatADiskHasRoomAgain() {
        let room: Int64 = 2 * 100_000 + 262_144
        #expect(WritingTrouble().hasRoomAgain(free: 0), "nothing failed")
        #expect(!failed().hasRoomAgain(free: room - 1))
        #expect(failed().hasRoomAgain(free: room))
        // As with a quota, the file system does not say why the write failed.
        #expect(!failed(free: room).hasRoomAgain(free: room))
    }

    private func trials(_ trouble: WritingTrouble, free: Int64) -> [Int64] {
        var trouble = trouble
        var trials: [Int64] = []
        for millisecond in stride(from: 0, through: 200_000, by: 100) as StrideThrough<Int64> {
            switch trouble.admit(free: free, at: at(millisecond)) {
            case .accept: Issue.record("accepted at \(millisecond)")
            case .decline(let bytes?):
                trials.append(millisecond)
                trouble.recordFailure(bytes: bytes, free: free, at: at(millisecond))
            case .decline(nil): break
            }
        }
        return trials
    }

    /// Something may have made room. If it did not, the intervals grow again.
    @Test func aTrialMayBeAllowedAtOnce() {
        var trouble = failed(times: 6)
        #expect(trouble.admit(free: 0, at: at(2000)) == .decline(triesAgain: nil))
        trouble.allowTrial(at: at(2000))
        #expect(trouble.admit(free: 0, at: at(2000)) == .decline(triesAgain: 100_000))
        #expect(trouble.admit(free: 0, at: at(2001)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: 0, at: at(3000)) == .decline(triesAgain: 100_000))
        var usable = WritingTrouble()
        usable.allowTrial(at: at(1))
        #expect(usable.isOver)
    }

    /// Content in the database may have freed space there.
    @Test func triesAtIntervalsRegardlessOfFreeSpace() {
        #expect(trials(failed(), free: 0) == [1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000, 183_000])
    }

    /// A passing fault ends by itself; a quota that the file system does not report does not.
    @Test func trustsReportedFreeSpaceForSomeFailuresOnly() {
        let limit = WritingTrouble.contradictionLimit
        for free in [1 << 40, nil] as [Int64?] {
            var trouble = failed(free: free, times: limit)
            #expect(trouble.admit(free: free, at: at(1)) == .accept)
        }
        #expect(trials(failed(free: 1 << 40, times: limit + 1), free: 1 << 40) == [60_000, 120_000, 180_000])
    }

    @Test func clockSetBackDoesNotDelayTrialsForEver() {
        var trouble = failed()
        #expect(trouble.admit(free: 0, at: at(-3_600_000)) == .decline(triesAgain: 100_000))
    }

    @Test func trialsUseTheLargestFailedSize() {
        var trouble = failed(500_000)
        trouble.recordFailure(bytes: 1, free: 0, at: at(10))
        #expect(trouble.admit(free: 1_262_143, at: at(11)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: 1_262_144, at: at(11)) == .accept)
    }
}
