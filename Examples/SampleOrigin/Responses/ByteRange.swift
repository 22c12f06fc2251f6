/// The part of the content that a `Range` field requests: RFC 9110 §14.
enum ByteRange: Equatable {
    /// The whole content: there is no range, or this origin ignores it (§14.2 allows that).
    case whole
    /// These offsets, not empty and within the content.
    case part(Range<Int64>)
    /// An empty part.
    case unsatisfiable

    /// The part of `size` bytes that the field selects. Several ranges, other units and malformed
    /// fields select the whole content.
    static func selected(by field: String?, of size: Int64) -> ByteRange {
        guard let field, field.lowercased().hasPrefix("bytes=") else { return .whole }
        let specification = String(field.dropFirst(6)).trimmed
        let parts = specification.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return .whole }
        switch (position(parts[0]), position(parts[1])) {
        case (let first?, let last?):
            guard first <= last else { return .whole }
            return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        case (let first?, nil) where parts[1].isEmpty:
            return first < size ? .part(first..<size) : .unsatisfiable
        case (nil, let suffix?) where parts[0].isEmpty:
            guard suffix > 0 else { return .unsatisfiable }
            return size == 0 ? .whole : .part(max(0, size - suffix)..<size)
        default:
            return .whole
        }
    }

    /// Whether `If-Range` allows the range: the tag must be equal by the strong comparison
    /// (§13.1.5).
    ///
    /// A date never does, because content with ranges has no `Last-Modified` here.
    static func mayBeServed(ifRange: String?, tag: String) -> Bool {
        guard let ifRange else { return true }
        return ifRange.trimmed == tag && !tag.hasPrefix("W/")
    }

    /// A position; the largest integer if it is too large.
    private static func position(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(digits) ?? .max - 1
    }
}
