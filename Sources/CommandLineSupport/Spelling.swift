/// Finds the word that a misspelled one probably means.
enum Spelling {
    /// Returns the word with the fewest edits; `nil` if every word needs too many: one for up to
    /// five letters, otherwise two.
    static func nearest(to word: String, in words: [String]) -> String? {
        let limit = word.count < 6 ? 1 : 2
        return words.map { (word: $0, edits: edits(word, $0, limit: limit)) }
            .filter { $0.edits <= limit && $0.word.count > 1 }
            .min { $0.edits < $1.edits }?.word
    }

    /// The Levenshtein distance. Words whose lengths alone differ by more than the limit are not
    /// compared.
    private static func edits(_ first: String, _ second: String, limit: Int) -> Int {
        guard abs(first.count - second.count) <= limit else { return limit + 1 }
        var row = Array(0...second.count)
        for (line, left) in first.enumerated() {
            var diagonal = row[0]
            row[0] = line + 1
            for (column, right) in second.enumerated() {
                let above = row[column + 1]
                row[column + 1] = left == right ? diagonal : 1 + min(diagonal, above, row[column])
                diagonal = above
            }
        }
        return row[second.count]
    }
}
