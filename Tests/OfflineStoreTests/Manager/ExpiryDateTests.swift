import Foundation
import HTTPCacheSemantics
import OfflineStore
import Testing

@Suite(.timeLimit(.minutes(20))) struct ExpiryDateTests {
    @Test func dateConvertsToAnInstant() {
        let date = Date(timeIntervalSince1970: 1_767_225_600.125)
        #expect(Expiry.at(date) == .at(Timestamp(milliseconds: 1_767_225_600_125)))
        #expect(Timestamp(date).date == date)
    }

    /// Seconds, because a failing test would print the dates' descriptions, which trap.
    @Test(arguments: [
        (64_092_211_200, Timestamp(seconds: 64_092_211_200)), (Double.infinity, .distantFuture),
        (-Double.infinity, .distantPast), (1e300, .distantFuture), (Double.nan, .distantPast),
    ])
    func datesBeyondTheRangeAreClamped(seconds: Double, instant: Timestamp) {
        #expect(Timestamp(Date(timeIntervalSince1970: seconds)) == instant)
    }
}
