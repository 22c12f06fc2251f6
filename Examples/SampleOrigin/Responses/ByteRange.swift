/// The part of the content that a `Range` field requests: RFC 9110 §14.
enum ByteRange: Equatable {
    /// The whole content, because there is no range or this origin ignores it (§14.2 allows that).
    case whole
    /// A part of the content, which is not empty.
    case part(Range<Int64>)
    /// No byte of the content.
    case unsatisfiable

    /// Returns the part of `size` bytes that the field selects. Multiple ranges, other units and
    /// malformed fields select the whole content.
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

    /// Returns whether `If-Range` allows the range. The tag must match by strong comparison
    /// (§13.1.5).
    ///
    /// A date never allows it, because content with ranges has no `Last-Modified` here.
    static func mayBeServed(ifRange: String?, tag: String) -> Bool {
        guard let ifRange else { return true }
        return ifRange.trimmed == tag && !tag.hasPrefix("W/")
    }

    /// Parses a position; `nil` if it is malformed. A position that is too large becomes the
    /// largest supported position.
    private static func position(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(digits) ?? .max - 1
    }
}
