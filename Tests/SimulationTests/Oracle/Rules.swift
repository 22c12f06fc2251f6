import HTTPTypes

/// A second, simple parser of `Cache-Control`, independent of the engine's. RFC 9111 §5.2
struct Rules {
    private var values: [String: [String]] = [:]

    init(_ text: String?) {
        guard let text else { return }
        var members: [String] = [""]
        var isQuoted = false
        for character in text {
            if character == "\"" { isQuoted.toggle() }
            if character == ",", !isQuoted { members.append("") } else { members[members.count - 1].append(character) }
        }
        for member in members {
            let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts[0].filter { $0 != " " }.lowercased()
            let value = parts.count > 1 ? parts[1].filter { $0 != " " && $0 != "\"" } : ""
            if !name.isEmpty { values[name, default: []].append(String(value)) }
        }
    }

    func has(_ name: String) -> Bool { values[name] != nil }

    /// Milliseconds. An invalid number is zero; of several, the smallest is used.
    func time(_ name: String) -> Int64? {
        values[name].map { $0.map { Int64($0) ?? 0 }.min() ?? 0 }.map { $0 * 1000 }
    }

    /// The largest of several values; an invalid number restricts as much as possible.
    func longest(_ name: String) -> Int64? {
        values[name].map { $0.map { Int64($0) ?? .max / 2000 }.max() ?? 0 }.map { $0 * 1000 }
    }

    func names(_ name: String) -> [String] {
        values[name, default: []].flatMap { $0.split(separator: ",").map { $0.lowercased() } }
    }

    /// Without a list of fields.
    func isWhole(_ name: String) -> Bool { values[name]?.contains("") ?? false }

    /// `no-cache` without fields, or one that names fields a response requires.
    var needsValidation: Bool {
        isWhole("no-cache") || names("no-cache").contains { ["content-type", "vary", "etag"].contains($0) }
    }
    var forbidsStorage: Bool { has("no-store") && !has("must-understand") }
    var isForEverybody: Bool { has("public") || has("s-maxage") }
}
