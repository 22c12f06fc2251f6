import HTTPWire

extension MessageRefusal {
    /// The fault of an origin's response, for operators. It repeats nothing of the response.
    var faultOfResponse: String {
        switch reason {
        case .startLine, .version: "it does not begin with a status line of HTTP/1.0 or HTTP/1.1"
        case .startLineTooLong: "its status line is too long"
        case .fieldsTooLarge: fieldsOfResponse
        case .trailersTooLarge: "its trailers are too large"
        case .chunkExtensionsTooLarge: "the extensions of its chunks are too large"
        case .contentLength: "'Content-Length' is malformed, or sent more than once"
        case .transferEncoding: "'Transfer-Encoding' is malformed, repeated, or sent with 'Content-Length'"
        case .transferCoding: "'Transfer-Encoding' is not 'chunked' alone"
        case .fieldLine: "a field line has no colon, or a malformed name"
        case .fieldFolding: "a field value continues on the next line"
        case .fieldValue: "a field value contains a byte that is not allowed"
        default: reason.rawValue.split(separator: "-").joined(separator: " ")
        }
    }

    /// The next step for an operator.
    var adviceOnResponse: String {
        switch reason {
        case .startLine, .version: "Check what listens on this port."
        case .startLineTooLong, .fieldsTooLarge, .trailersTooLarge, .chunkExtensionsTooLarge:
            "Make the origin send less; no setting raises this limit."
        default: "Correct the origin's response."
        }
    }

    private var fieldsOfResponse: String {
        switch detail {
        case .bytes(let limit): "its fields have more than \(limit) bytes"
        case .lines(let limit): "it has more than \(limit) field lines"
        default: "its fields are too large"
        }
    }
}
