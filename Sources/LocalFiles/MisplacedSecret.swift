import LibC

/// Recognizes a secret that was written where the path of its file or the name of its variable
/// belongs, so that no message shows it.
package enum MisplacedSecret {
    static let message =
        "cannot be opened. The end of its path is not shown, because it looks like the secret itself. Write the path of a file that contains the secret."
    /// A shorter text is probably a name.
    private static let shortest = 12
    /// A longer text is no name.
    private static let longestName = 64

    /// Returns a path without the part that may be a secret; `nil` if the whole path can be shown.
    static func shown(_ path: String) -> String? {
        // The name of a file is no secret.
        guard access(path, F_OK) != 0 else { return nil }
        var end = path.endIndex
        repeat {
            end = path[..<end].lastIndex(of: "/") ?? path.startIndex
        } while end > path.startIndex && access(String(path[..<end]), F_OK) != 0
        let rest = path[end...]
        let start = rest.first == "/" ? rest.dropFirst() : rest
        return mayBeSecret(start) ? "\(path[..<start.startIndex])…" : nil
    }

    /// Returns whether a text in the place of a name looks like a secret. A name of a file has an
    /// extension, or words without digits. A name of a variable has words in upper case:
    /// `AWS_S3_TOKEN`.
    package static func mayBeSecret(_ text: some StringProtocol) -> Bool {
        if text.utf8.count > longestName, !text.contains("/") { return true }
        let hasUpperCaseWords = text.contains("_") && !text.contains(where: \.isLowercase)
        return text.utf8.count >= shortest && !text.contains(".") && !hasUpperCaseWords
            && text.contains(where: \.isNumber) && text.contains(where: \.isLetter)
    }
}
