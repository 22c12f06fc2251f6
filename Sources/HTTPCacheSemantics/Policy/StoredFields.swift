internal import HTTPTypes

/// The values that determine freshness and age, read from a stored response's fields in one pass.
struct StoredFields {
    enum Expires {
        case absent
        /// `0`, another value that is not a date, or several lines: already expired. RFC 9111 §5.3
        case invalid
        case at(Timestamp)
    }

    var directives = ResponseDirectives()
    /// The instant in the first `Date` line; `nil` if it is invalid.
    var date: Timestamp?
    var expires = Expires.absent
    var lastModified: Timestamp?
    var age: DeltaSeconds?
    /// The operator's overrides, which take precedence over the fields.
    var overrides: PolicyOverrides?

    /// - Parameters:
    ///   - received: the time of receipt, for dates with two-digit years.
    ///   - targeted: the lower-case names of targeted fields. RFC 9213 §2.2
    init(_ fields: HTTPFields, received: Timestamp, targeted: [String]) {
        // One bit per length of a listed name, so that a field of another length needs no
        // comparison.
        var lengths: UInt64 = 0
        for name in targeted { lengths |= 1 << UInt64(name.utf8.count & 63) }
        var hasTargeted = false
        var hasDate = false
        var hasAge = false
        // Access by index: iterating would copy every field.
        for index in fields.indices {
            // Compare lengths first: one integer comparison rules out nearly every field.
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
        // Targeted fields are parsed only if present, so other responses have no extra cost.
        if hasTargeted, let found = ResponseDirectives(targeted: targeted, in: fields) {
            directives = found
            expires = .absent
        }
    }
}
