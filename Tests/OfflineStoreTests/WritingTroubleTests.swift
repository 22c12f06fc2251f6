import HTTPCacheSemantics
import Testing

@testable import OfflineStore

/// A disk that takes no more, told from one that takes everything: the value alone.
@Suite struct WritingTroubleTests {
    private let start = Timestamp(seconds: 1000)

    private func at(_ milliseconds: Int64) -> Timestamp { start.adding(milliseconds: milliseconds) }

    private func failed(_ octets: Int64 = 100_000, free: Int64? = 0) -> WritingTrouble {
        var trouble = WritingTrouble()
        trouble.failed(octets: octets, free: free, at: start)
        return trouble
    }

    @Test func acceptsUntilSomethingFails() {
        var trouble = WritingTrouble()
        #expect(trouble.isOver)
        #expect(trouble.admit(free: 0, at: start) == .accept)
        trouble.succeeded(octets: 1)
        #expect(trouble.isOver)
    }

    @Test func declinesWhileThereIsNoMoreRoomThanWhenItFailed() {
        var trouble = failed()
        #expect(trouble.admit(free: 0, at: at(1)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: 99_999, at: at(2)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: 100_000, at: at(3)) == .accept)
        // It is over when as much was written as was not, and not before.
        trouble.succeeded(octets: 99_999)
        #expect(!trouble.isOver)
        trouble.succeeded(octets: 100_000)
        #expect(trouble.isOver)
        #expect(trouble.admit(free: 0, at: at(4)) == .accept)
    }

    /// A quota, say: the file system tells of room that is not this user's. Then it is tried, for nobody.
    @Test func triesFromTimeToTimeWhateverTheFileSystemTells() {
        var trouble = failed(free: 1 << 40)
        var trials: [Int64] = []
        for millisecond in stride(from: 0, through: 200_000, by: 100) as StrideThrough<Int64> {
            switch trouble.admit(free: 1 << 40, at: at(millisecond)) {
            case .accept: Issue.record("accepted at \(millisecond)")
            case .decline(let octets?):
                #expect(octets == 100_000)
                trials.append(millisecond)
                trouble.failed(octets: octets, free: 1 << 40, at: at(millisecond))
            case .decline(nil): break
            }
        }
        #expect(trials == [1000, 3000, 7000, 15_000, 31_000, 63_000, 123_000, 183_000])
    }

    @Test func aClockThatIsSetBackDelaysNoTrialForEver() {
        var trouble = failed(free: nil)
        #expect(trouble.admit(free: nil, at: at(-3_600_000)) == .decline(triesAgain: 100_000))
    }

    @Test func whatFailsAgainIsTriedWithTheMostThatFailed() {
        var trouble = failed(500_000)
        trouble.failed(octets: 1, free: 0, at: at(10))
        #expect(trouble.admit(free: 499_999, at: at(11)) == .decline(triesAgain: nil))
        #expect(trouble.admit(free: 500_000, at: at(11)) == .accept)
    }
}
