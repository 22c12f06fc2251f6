import CacheRules

/// A text that is empty, or has an empty segment, because a variable has no value: `/${A}` is then
/// the root.
struct EmptiedText: Sendable, Hashable {
    /// The text before expansion.
    let text: String
    let variable: String
    /// Whether nothing remains of the text.
    let isWhole: Bool
    let line: Int

    /// A warning, which shows no value.
    var message: String {
        let state = isWhole ? "is empty" : "has an empty segment"
        return "\(shown(text)) \(state), because the variable \(shown(variable)) is empty. Set it to a value."
    }
}

/// Finds the variable that leaves a text without slashes empty, or a part of a text between two
/// slashes.
struct SegmentScan {
    /// The first variable that leaves a segment empty.
    private(set) var variable: String?
    /// The first variable of this segment.
    private var candidate: String?
    private var hasText = false

    /// Adds text that is in the file.
    mutating func add(_ text: String) {
        for (index, part) in text.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
            if index > 0 { end() }
            if !part.isEmpty { hasText = true }
        }
    }

    /// Adds a variable. A value is never split.
    mutating func add(variable name: String, _ value: String) {
        if !value.isEmpty { hasText = true }
        if candidate == nil { candidate = name }
    }

    /// Ends the last segment.
    mutating func end() {
        if variable == nil, !hasText { variable = candidate }
        (candidate, hasText) = (nil, false)
    }
}
