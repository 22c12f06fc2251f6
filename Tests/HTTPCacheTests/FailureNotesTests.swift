import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// When the log states why an origin failed.
@Suite(.timeLimit(.minutes(20))) struct FailureNotesTests {
    private var notes = FailureNotes()
    private let start = Timestamp(seconds: 1000)

    private mutating func note(_ reason: String, after seconds: Int64) -> Bool {
        notes.note(FailureCause(reason: reason, message: "\(seconds)"), at: start.adding(.seconds(seconds)))
    }

    /// Mutant: every failure is logged.
    @Test mutating func logsOncePerChange() {
        let logged = [
            note("refused", after: 0), note("refused", after: 1), note("tls", after: 2), note("tls", after: 3),
        ]
        #expect(logged == [true, false, true, false])
        #expect(notes.last == FailureCause(reason: "tls", message: "3"), "the last message is shown")
    }

    @Test mutating func alternatingReasonsAreLoggedOnceAMinute() {
        let logged = (0..<600).count { note($0.isMultiple(of: 2) ? "refused" : "no-route", after: Int64($0)) }
        #expect(logged == 20)
    }

    @Test mutating func successEndsTheCause() {
        _ = note("refused", after: 0)
        notes.succeed()
        #expect(notes.last == nil)
        #expect(note("refused", after: 61))
    }
}
