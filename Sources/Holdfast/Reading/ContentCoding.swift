import HTTPTypes

/// A coding that content came in. RFC 9110 §8.4.1
enum ContentCoding: Sendable, Hashable {
    /// RFC 1952; `x-gzip` is the same.
    case gzip
    /// RFC 1950. Some servers send it without the zlib format around it, as a bare stream of RFC
    /// 1951.
    case deflate

    /// Codings one upon another at most: each may make its input a thousand times larger.
    static let maximumCount = 2

    /// What is asked for where an endpoint does not say.
    static let accepted = "gzip, deflate"

    /// The codings of `Content-Encoding`, in the order in which they were applied; `identity` is
    /// none.
    ///
    /// - Throws: ``HoldfastError`` with code `decodingFailed`, for a coding that is not known, or
    ///   too many of them.
    static func list(_ fields: HTTPFields, of target: MessageTarget) throws -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for member in fields[values: .contentEncoding].joined(separator: ",").split(separator: ",") {
            let name = member.trimmed.lowercased()
            switch name {
            case "gzip", "x-gzip": codings.append(.gzip)
            case "deflate": codings.append(.deflate)
            case "identity", "": continue
            default:
                throw HoldfastError(
                    code: .decodingFailed,
                    message: "The content of '\(target)' came in the coding '\(name)', which is not known here. "
                        + "Accept no other than 'gzip' and 'deflate', or read the response as it comes, with 'respond(to:)'."
                )
            }
        }
        guard codings.count <= maximumCount else {
            throw HoldfastError(
                code: .decodingFailed,
                message: "The content of '\(target)' came in \(codings.count) codings one upon another; "
                    + "\(maximumCount) is the limit."
            )
        }
        return codings
    }
}

extension Substring {
    /// Without the white space around it. RFC 9110 §5.6.3
    fileprivate var trimmed: Substring {
        var rest = self
        while rest.first == " " || rest.first == "\t" { rest.removeFirst() }
        while rest.last == " " || rest.last == "\t" { rest.removeLast() }
        return rest
    }
}
