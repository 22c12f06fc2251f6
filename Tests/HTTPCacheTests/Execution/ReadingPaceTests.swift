import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

@Suite(.timeLimit(.minutes(20))) struct ReadingPaceTests {
    private final class Uptime: Sendable {
        private let current = Mutex(NIODeadline.uptimeNanoseconds(1_000_000_000))
        var now: NIODeadline { current.withLock { $0 } }
        func pass(_ time: TimeAmount) { current.withLock { $0 = $0 + time } }
    }

    private let uptime = Uptime()

    private func pace() -> ExecutionContext.ReadingPace { ExecutionContext.ReadingPace { [uptime] in uptime.now } }

    @Test func quickDiskIsReadEachTime() {
        let pace = pace()
        for number in 0..<100 {
            let read = pace.read {
                uptime.pass(.milliseconds(1))
                return number
            }
            #expect(read == number)
        }
    }

    /// Mutant: `resumes` never stored.
    @Test func slowDiskIsAvoidedForAHundredTimesAsLong() {
        let pace = pace()
        let slow = pace.read {
            uptime.pass(.milliseconds(5))
            return 1
        }
        #expect(slow == 1)
        uptime.pass(.nanoseconds(499_999_999))
        #expect(pace.read { 2 } == nil)
        uptime.pass(.nanoseconds(1))
        #expect(pace.read { 3 } == 3)
    }
}
