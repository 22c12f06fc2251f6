/// What a `Range` field asks for: RFC 9110 §14.
enum ByteRange: Equatable {
    /// Everything: there is no range, or none that this origin honours (§14.2 lets a server ignore
    /// any).
    case whole
    /// These offsets, not empty and within the content.
    case part(Range<Int64>)
    /// Nothing that exists.
    case unsatisfiable

    /// What is selected of `size` bytes; several ranges at once, other units and malformed fields
    /// select everything.
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

    /// Whether `If-Range` lets the range be served: the tag must be the same by the strong
    /// comparison (§13.1.5).
    ///
    /// A date never does, for what has ranges here has no `Last-Modified`.
    static func mayBeServed(ifRange: String?, tag: String) -> Bool {
        guard let ifRange else { return true }
        return ifRange.trimmed == tag && !tag.hasPrefix("W/")
    }

    /// A position; one too large for any content is as good as the largest.
    private static func position(_ digits: Substring) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(digits) ?? .max - 1
    }
}
