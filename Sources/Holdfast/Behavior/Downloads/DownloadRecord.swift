import Crypto
import HTTPCacheSemantics
import HTTPTypes

/// The record of an interrupted download's part, which lets a later download resume it:
/// `<file>.part.json`.
struct DownloadRecord: Codable, Sendable, Hashable {
    /// The SHA-256 hash of the target URI, in hexadecimal, because the URI may contain secrets.
    var target: String
    /// A strong validator for `If-Range`: an entity tag or a date. RFC 9110 §13.1.5
    var validator: String
    /// The number of bytes in the whole content, if known.
    var length: StatedLength?
    /// The boot in which the part was written; see ``BootIdentity``.
    var boot = BootIdentity.current
    /// The number of bytes that were synced and therefore survive a loss of power.
    var synced: Int64?

    /// The minimum difference between `Last-Modified` and `Date` for a strong validator, in
    /// milliseconds. RFC 9110 §8.8.2.2
    private static let dateDistance: Int64 = 60_000

    /// Creates the record of a complete response. Returns `nil` if the response has no strong
    /// validator, or if its origin does not support ranges. A later download then starts over.
    init?(_ head: HTTPResponse, of target: TargetURI, length: StatedLength?, now: Timestamp) {
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
            // If the tag is weak or malformed, a date is no better.
            let inner = tag.dropFirst().dropLast()
            return tag.count >= 2 && tag.hasPrefix("\"") && tag.hasSuffix("\"") && !inner.contains("\"") ? tag : nil
        }
        guard let text = fields[values: .lastModified].first, let modified = HTTPDate.parse(text, reference: now),
            let date = fields[values: .date].first.flatMap({ HTTPDate.parse($0, reference: now) }),
            date.milliseconds(since: modified) >= dateDistance
        else { return nil }
        return text
    }

    /// Returns how many bytes of a part can be trusted: all of them, unless the power may have
    /// failed since they were written.
    ///
    /// - Parameter present: the machine's current boot.
    func trusted(_ length: Int64, in present: String?) -> Int64 {
        boot != nil && boot == present ? length : min(length, synced ?? 0)
    }

    /// Whether a response's fields show that it is another representation.
    func isContradicted(by fields: HTTPFields) -> Bool {
        let name: HTTPField.Name = validator.hasPrefix("\"") ? .eTag : .lastModified
        guard let value = fields[values: name].first else { return false }
        return value != validator
    }
}
