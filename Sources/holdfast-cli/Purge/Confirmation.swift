import CommandLineSupport
import Foundation

/// Asks for confirmation at a terminal before data is lost.
///
/// Scripts are not asked, because their standard input or standard error is not a terminal.
enum Confirmation {
    /// Whether a person can read a question and type an answer.
    static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks a question and reads one line.
    static func ask(_ question: String) -> Bool {
        StandardStream.error.line(question + " [y/N]")
        return isYes(readLine())
    }

    /// Returns whether an answer means yes. A missing answer means no.
    static func isYes(_ answer: String?) -> Bool {
        ["y", "yes"].contains(answer?.trimmingCharacters(in: .whitespaces).lowercased() ?? "")
    }
}
