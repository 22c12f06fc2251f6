import CommandLineSupport
import Foundation

/// A question at a terminal before something is lost.
///
/// A script has no terminal, or has one on neither side of the question, so it is not asked.
enum Confirmation {
    /// Whether there is a person who can read a question and type an answer.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks, and reads one line.
    static func ask(_ question: String) -> Bool {
        StandardStream.error.line(question + " [y/N]")
        return isYes(readLine())
    }

    /// Whether an answer means yes. No answer means no.
    static func isYes(_ answer: String?) -> Bool {
        ["y", "yes"].contains(answer?.trimmingCharacters(in: .whitespaces).lowercased() ?? "")
    }
}
