import HTTPCacheSemantics
import Testing

@testable import HTTPCache

/// When the log states why an origin fails.
@Suite(.timeLimit(.minutes(20))) struct FailureNotesTests {
    private func note(_ notes: inout FailureNotes, _ reason: String, after seconds: Int64) -> Bool {
        let now = Timestamp(seconds: 1000).adding(.seconds(seconds))
        return notes.note(FailureCause(reason: reason, message: "\(seconds)"), at: now)
    }

    /// Mutant: every failure is logged.
    @Test func logsOncePerChange() {
        var notes = FailureNotes()
        for (second, (reason, isLogged)) in [("refused", true), ("refused", false), ("tls", true), ("tls", false)]
            .enumerated()
        {
            #expect(note(&notes, reason, after: Int64(second)) == isLogged, "\(second)")
        }
        #expect(notes.last == FailureCause(reason: "tls", message: "3"), "the last message is shown")
    }

    @Test func alternatingReasonsAreLoggedOnceAMinute() {
        var notes = FailureNotes()
        var logged = 0
        for second in 0..<600 where note(&notes, second.isMultiple(of: 2) ? "refused" : "tls", after: Int64(second)) {
            logged += 1
        }
        #expect(logged == 20)
    }

    @Test func successEndsTheCause() {
        var notes = FailureNotes()
        _ = note(&notes, "refused", after: 0)
        notes.succeed()
        let isLogged = note(&notes, "refused", after: 61)
        #expect(isLogged && notes.last?.message == "61")
    }
}
