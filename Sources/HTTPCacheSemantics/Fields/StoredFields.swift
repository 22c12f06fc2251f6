internal import HTTPTypes

/// The values that freshness and age depend on, read from a stored response's fields in one pass.
struct StoredFields {
    enum Expires {
        case absent
        /// `0`, any other value that is not a date, or more than one line: already expired. RFC
        /// 9111 §5.3
        case invalid
        case at(Timestamp)
    }

    var directives = ResponseDirectives()
    /// The first `Date` line's instant.
    ///
    /// `nil` if that is invalid.
    var date: Timestamp?
    var expires = Expires.absent
    var lastModified: Timestamp?
    var age: DeltaSeconds?
    /// The operator's overrides, which take precedence over the fields.
    var overrides: PolicyOverrides?

    /// - Parameters:
    ///   - received: the time of receipt, for dates with two-digit years.
    ///   - targeted: the names of targeted fields, in lower case. RFC 9213 §2.2
    init(_ fields: HTTPFields, received: Timestamp, targeted: [String]) {
        // One bit for each length that a listed name has, so that a field of another length costs
        // no comparison.
        var lengths: UInt64 = 0
        for name in targeted { lengths |= 1 << UInt64(name.utf8.count & 63) }
        var hasTargeted = false
        var hasDate = false
        var hasAge = false
        // Access by index: a loop over the fields copies each of them.
        for index in fields.indices {
            // Lengths first: one comparison of integers rules out nearly every field.
            let name = fields[index].name.canonicalName
            switch name.utf8.count {
            case 13 where name == "cache-control":
                fields[index].withUnsafeBytesOfValue { directives.addLine($0) }
            case 4 where !hasDate && name == "date":
                hasDate = true
                date = fields[index].withUnsafeBytesOfValue { HTTPDate.parse($0, reference: received) }
            case 3 where !hasAge && name == "age":
                hasAge = true
                age = fields[index].withUnsafeBytesOfValue { AgeField.value($0) }
            case 7 where name == "expires":
                if case .absent = expires,
                    let instant = fields[index].withUnsafeBytesOfValue({ HTTPDate.parse($0, reference: received) })
                {
                    expires = .at(instant)
                } else {
                    expires = .invalid
                }
            case 13 where lastModified == nil && name == "last-modified":
                lastModified = fields[index].withUnsafeBytesOfValue { HTTPDate.parse($0, reference: received) }
            default:
                if lengths & (1 << UInt64(name.utf8.count & 63)) != 0, ResponseDirectives.isListed(name, targeted) {
                    hasTargeted = true
                }
            }
        }
        // Parsed only if there is one, so that other responses do not pay for it.
        if hasTargeted, let found = ResponseDirectives(targeted: targeted, in: fields) {
            directives = found
            expires = .absent
        }
    }
}
