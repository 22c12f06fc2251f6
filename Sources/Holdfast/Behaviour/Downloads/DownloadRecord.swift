import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// What is known of a part that a broken-off download left, so that a later one may go on with it:
/// `<file>.part.json`.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The SHA-256 of the target URI, in hexadecimal: the URI may hold secrets.
    var target: String
    /// A strong validator, as it goes into `If-Range`: an entity tag, or a date. RFC 9110 §13.1.5
    var validator: String
    /// Bytes in the whole, where that is known.
    var length: Int64?
    /// In which run of the machine the part was written; see ``BootIdentity``.
    var boot = BootIdentity.current
    /// Bytes of the part that were synced: what a failure of the power leaves.
    var synced: Int64?

    /// How much earlier than `Date` a `Last-Modified` has to be to count as strong, in
    /// milliseconds. RFC 9110 §8.8.2.2
    private static let dateDistance: Int64 = 60_000

    /// What is kept of a complete response; `nil` where it has no strong validator, or its origin
    /// serves no ranges: then a later download begins anew.
    init?(_ head: HTTPResponse, of target: TargetURI, length: Int64?, now: Timestamp) {
        let fields = head.headerFields
        guard fields[.acceptRanges]?.lowercased() != "none", let validator = Self.validator(fields, now: now) else {
            return nil
        }
        self.target = Self.digest(target)
        self.validator = validator
        self.length = length
    }

    static func digest(_ target: TargetURI) -> String {
        SHA256.hash(data: Array(target.uri.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    private static func validator(_ fields: HTTPFields, now: Timestamp) -> String? {
        if let tag = fields[values: .eTag].first {
            // One that is weak or malformed is none, and a date beside it is no better.
            let inner = tag.dropFirst().dropLast()
            return tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") && !inner.contains("\"") ? tag : nil
        }
        guard let text = fields[values: .lastModified].first, let modified = HTTPDate.parse(text, reference: now),
            let date = fields[values: .date].first.flatMap({ HTTPDate.parse($0, reference: now) }),
            date.milliseconds(since: modified) >= dateDistance
        else { return nil }
        return text
    }

    /// How much of a part with so many bytes is what was written: all of it, unless the power may
    /// have failed since.
    ///
    /// - Parameter present: the machine's run now.
    func trusted(_ length: Int64, in present: String?) -> Int64 {
        boot != nil && boot == present ? length : min(length, synced ?? 0)
    }

    /// Whether a response says of itself that it is of another representation.
    func isContradicted(by fields: HTTPFields) -> Bool {
        let name: HTTPField.Name = validator.hasPrefix("\"") ? .eTag : .lastModified
        guard let value = fields[values: name].first else { return false }
        return value != validator
    }
}
