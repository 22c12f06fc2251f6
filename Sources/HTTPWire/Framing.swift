package import HTTPCacheSemantics
package import HTTPTypes

/// How a message's content is delimited. RFC 9112 §6
package enum Framing: Hashable {
    /// There is no content.
    case none
    /// The content has this number of bytes.
    case length(StatedLength)
    /// The chunked transfer coding. RFC 9112 §7.1
    case chunked
    /// All bytes until the connection is closed; responses only.
    case untilClose

    /// Whether no content follows.
    package var isEmpty: Bool { self == .none || self == .length(0) }

    /// Reads `Content-Length` and `Transfer-Encoding`; `nil` if both are missing.
    ///
    /// Both fields together, a list of lengths (even equal ones), a sign, and any coding besides
    /// `chunked` are rejected. Attackers have used each of them to make two programs read different
    /// messages. RFC 9112 §6.1 and §6.3, §11.2
    /// - Parameter minorVersion: the minor version. HTTP/1.0 has no transfer codings.
    package init?(_ fields: HTTPFields, minorVersion: Int) throws(MessageRefusal) {
        var length: StatedLength?
        var codings: [String]?
        for index in fields.indices {
            switch fields[index].name.canonicalName {
            case "content-length":
                guard length == nil, let value = fields[index].withUnsafeBytesOfValue({ Self.length($0) }) else {
                    throw MessageRefusal(.contentLength)
                }
                length = value
            case "transfer-encoding":
                codings = (codings ?? []) + fields[index].listMembers
            default:
                break
            }
        }
        if let codings {
            guard length == nil, minorVersion > 0, codings.last == "chunked", !codings.dropLast().contains("chunked")
            else { throw MessageRefusal(.transferEncoding) }
            guard codings.count == 1 else { throw MessageRefusal(.transferCoding, status: 501) }
            self = .chunked
        } else if let length {
            self = .length(length)
        } else {
            return nil
        }
    }

    /// Parses `1*DIGIT`; `nil` if the number does not fit in an `Int64`.
    package static func length(_ bytes: UnsafeBufferPointer<UInt8>) -> StatedLength? {
        // A longer text has leading zeros, or does not fit.
        bytes.count <= 19 ? StatedLength(digits: bytes) : nil
    }
}
