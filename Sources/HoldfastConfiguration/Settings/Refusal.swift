import HTTPCacheSemantics

/// Why a value was rejected. The code that catches it adds the setting's name.
struct Refusal: Error {
    /// A sentence that names the value and states which values are allowed.
    var message: String
    /// The line, if it differs from the setting's line.
    var line: Int?

    init(_ message: String, line: Int? = nil) {
        self.message = message
        self.line = line
    }
}

/// A text from a file for a message: in quotes, without secrets in a URI, without control
/// characters, and cut if it is long.
func shown(_ text: some StringProtocol) -> String { "'\(Redaction.uriText(String(text), limit: 100))'" }

/// Joins words for a sentence: `a, b or c`.
func choice(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
}

/// The known word nearest to an unknown one, if it is near enough to be a spelling error.
func nearest(to word: String, of known: [String]) -> String? {
    let limit = max(2, word.utf8.count / 3)
    return known.map { (word: $0, distance: editDistance(word, $0)) }.filter { $0.distance <= limit }
        .min { $0.distance < $1.distance }?.word
}

/// The number of insertions, removals and replacements that turn one word into the other. Words are
/// cut at 64 bytes.
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
