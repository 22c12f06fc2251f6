import HTTPCacheSemantics

/// The reason why a value was rejected. The code that catches it adds the setting's name.
package struct Refusal: Error {
    /// The message: the fault in the value, and usually the allowed values.
    package var message: String
    /// The line, if it differs from the setting's line.
    package var line: Int?

    package init(_ message: String, line: Int? = nil) {
        self.message = message
        self.line = line
    }
}

/// Returns text from a file for a message: quoted, without control characters and secrets in URIs,
/// and truncated if it is long.
package func shown(_ text: some StringProtocol) -> String { shown(text, limit: 100) }

/// Returns the path of a file that is opened, for a message.
package func shown(path: String) -> String { shown(path, limit: 1024) }

private func shown(_ text: some StringProtocol, limit: Int) -> String {
    "'\(Redaction.uriText(String(text), limit: limit))'"
}

/// Joins words for a sentence: `a, b or c`.
package func choice(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
}

/// Returns the known word closest to an unknown word, if it is close enough to be a spelling error.
package func nearest(to word: String, of known: [String]) -> String? {
    let limit = max(2, word.utf8.count / 3)
    return known.map { (word: $0, distance: editDistance(word, $0)) }.filter { $0.distance <= limit }
        .min { $0.distance < $1.distance }?.word
}

/// Returns the number of insertions, deletions and substitutions that turn one word into the other.
/// Words are truncated to 64 bytes.
private func editDistance(_ first: String, _ second: String) -> Int {
    let from = Array(first.lowercased().utf8.prefix(64))
    let to = Array(second.lowercased().utf8.prefix(64))
    var row = Array(0...to.count)
    for (index, byte) in from.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in to.indices {
            let replaced = diagonal + (to[column] == byte ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
        }
    }
    return row[to.count]
}
