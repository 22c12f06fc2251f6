import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastTesting
import Logging
import Testing

/// A log level that an operator sets for a time.
@Suite(.timeLimit(.minutes(20))) struct LogLevelsTests {
    private let clock = ManualClock()

    private func debug(for seconds: Int64) -> LogLevels.Temporary {
        LogLevels.Temporary(
            .debug,
            until: clock.now().adding(.seconds(seconds)),
            since: clock.now(),
            client: "uid 1"
        )
    }

    @Test func levelEndsByItself() {
        let levels = LogLevels(.notice, clock: clock)
        #expect(levels.level == .notice && levels.temporary == nil)
        let temporary = debug(for: 60)
        levels.set(temporary)
        clock.advance(by: .seconds(59))
        #expect(levels.level == .debug && levels.temporary == temporary)
        clock.advance(by: .seconds(1))
        #expect(levels.level == .notice && levels.temporary == nil)
        // A clock that is set back does not bring it back.
        clock.advance(by: .seconds(-30))
        #expect(levels.level == .notice)
    }

    @Test func laterLevelTakesThePlaceOfTheFirst() {
        let levels = LogLevels(.notice, clock: clock)
        levels.set(debug(for: 60))
        var other = debug(for: 10)
        other.level = .error
        levels.set(other)
        #expect(levels.level == .error)
        levels.set(nil)
        #expect(levels.level == .notice)
    }
}
