import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

/// A content coding. RFC 9110 §8.4.1
enum ContentCoding: Sendable, Hashable {
    /// RFC 1952; also known as `x-gzip`.
    case gzip
    /// RFC 1950. Some servers omit the zlib wrapper and send a raw RFC 1951 stream.
    case deflate

    /// The maximum number of codings for one response's content. Each coding can expand its input
    /// by a factor of a thousand.
    static let maximumCount = 2

    /// The codings that a request accepts by default.
    static let accepted = "gzip, deflate"

    /// Returns the codings in `Content-Encoding`, in the order in which they were applied.
    /// `identity` is not a coding.
    ///
    /// - Throws: `HoldfastError` with code `decodingFailed` if a coding is unknown or there are
    ///   too many codings.
    static func list(_ fields: HTTPFields, of target: MessageTarget) throws -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for member in fields[values: .contentEncoding].joined(separator: ",").split(separator: ",") {
            let name = String(Substring(member.utf8.trimmingWhitespace())).lowercased()
            switch name {
            case "gzip", "x-gzip": codings.append(.gzip)
            case "deflate": codings.append(.deflate)
            case "identity", "": continue
            default:
                throw HoldfastError(
                    code: .decodingFailed,
                    message: "The content of '\(target)' has the coding '\(name)', which is not supported. "
                        + "Accept only 'gzip' and 'deflate', or read the raw response with 'respond(to:)'."
                )
            }
        }
        guard codings.count <= maximumCount else {
            throw HoldfastError(
                code: .decodingFailed,
                message: "The content of '\(target)' has \(codings.count) codings; "
                    + "the limit is \(maximumCount)."
            )
        }
        return codings
    }
}
