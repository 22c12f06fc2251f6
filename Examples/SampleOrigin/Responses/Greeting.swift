/// A greeting in the language that a client prefers, for `Vary: Accept-Language`.
enum Greeting {
    private static let texts = ["de": "Guten Tag\n", "en": "Good day\n", "fr": "Bonjour\n"]

    static func text(in language: String) -> String {
        texts[language] ?? texts["en", default: ""]
    }

    /// Returns the best language for an `Accept-Language` field: the available language with the
    /// highest weight (the first, if several have it), or English.
    static func language(accepted field: String?) -> String {
        var best: (language: String, weight: Double)?
        for range in (field ?? "").split(separator: ",") {
            let parts = range.split(separator: ";").map { String($0).trimmed }
            guard let language = parts.first?.split(separator: "-").first?.lowercased(), texts[language] != nil else {
                continue
            }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            if weight > best?.weight ?? 0 { best = (language, weight) }
        }
        return best?.language ?? "en"
    }
}
