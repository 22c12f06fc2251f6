import HoldfastTesting

extension SeededRandom {
    /// Text made of pieces that break encodings: delimiters, lengths, emptiness, scripts.
    mutating func text(maximum: Int) -> String {
        let pieces = [
            "a", "b", "|", "/", "?", "&", "=", "\u{0}", "\u{1}", "é", "e\u{301}", "😀", "", "0", " ", "\u{7F}",
        ]
        return (0..<Int.random(in: 0...maximum, using: &self)).map { _ in
            pieces[Int.random(in: 0..<pieces.count, using: &self)]
        }.joined()
    }
}
