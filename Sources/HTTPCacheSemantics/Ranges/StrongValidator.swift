internal import HTTPTypes

/// A validator that changes whenever the bytes change, so that parts may be combined. RFC 9110
/// §8.8.1
enum StrongValidator: Sendable, Hashable {
    case tag(EntityTag)
    /// A `Last-Modified` that is known to be strong.
    case date(Timestamp)

    /// The time, in milliseconds, by which a strong `Last-Modified` must precede `Date`.
    ///
    /// RFC 9110 §8.8.2.2 requires one second if both use the same clock, and more if they may not;
    /// files and servers often have different clocks. One minute is the value in RFC 7232.
    static let dateDistance: Int64 = 60_000

    /// Reads the strong validator of a response. Returns `nil` if it has none.
    ///
    /// A response with a weak or malformed `ETag` has no strong validator, because its date would
    /// not be more reliable.
    init?(_ fields: HTTPFields, received: Timestamp) {
        if fields.contains(.eTag) {
            guard let tag = EntityTag(fields), !tag.isWeak else { return nil }
            self = .tag(tag)
        } else {
            guard let date = Self.strongDate(fields, received: received) else { return nil }
            self = .date(date)
        }
    }

    /// Returns `Last-Modified` if it precedes `Date` by ``dateDistance`` or more, so that it cannot
    /// hide a second change.
    static func strongDate(_ fields: HTTPFields, received: Timestamp) -> Timestamp? {
        guard let lastModified = date(.lastModified, fields, received: received),
            let date = date(.date, fields, received: received),
            date.milliseconds(since: lastModified) >= dateDistance
        else { return nil }
        return lastModified
    }

    /// Returns the instant in the first line.
    static func date(_ name: HTTPField.Name, _ fields: HTTPFields, received: Timestamp) -> Timestamp? {
        guard let field = fields.first(where: { $0.name == name }) else { return nil }
        return field.withUnsafeBytesOfValue { HTTPDate.parse($0, reference: received) }
    }
}

extension StoredResponseHead {
    var strongValidator: StrongValidator? { StrongValidator(fields, received: responseTime) }
}
