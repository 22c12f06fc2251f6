import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// An error response of the gateway itself, which programs can read. RFC 9457
struct Problem {
    /// A word for the kind of problem. It is the end of its `type`.
    var code: String
    var title: String
    var status: Int
    /// An explanation for people, without query values or credentials.
    var detail: String
    var outcome = CacheOutcome(detail: CacheOutcome.Detail("refused"))

    /// `{"type":…,"title":…,"status":…,"detail":…}`, and `"requestId":…` if the request has a name.
    func json(of requestID: String? = nil) -> ByteBuffer {
        var json = ByteBuffer()
        json.writeString(#"{"type":"urn:holdfast:problem:"#)
        json.writeJSON(code)
        json.writeString(#"","title":""#)
        json.writeJSON(title)
        json.writeString(#"","status":\#(status),"detail":""#)
        json.writeJSON(detail)
        if let requestID {
            json.writeString(#"","requestId":""#)
            json.writeJSON(requestID)
        }
        json.writeString("\"}\n")
        return json
    }
}

extension ByteBuffer {
    /// The inside of a JSON string. RFC 8259 §7
    fileprivate mutating func writeJSON(_ text: String) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": writeString("\\\"")
            case "\\": writeString("\\\\")
            case "\u{0}"..<" ":
                let digits = String(scalar.value, radix: 16)
                writeString("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: writeString(String(scalar))
            }
        }
    }
}

extension Problem {
    /// The problem of an exchange that failed. The error determines the status.
    init(_ error: ExchangeError) {
        code = error.code.description
        status = error.status
        title =
            switch error.code {
            case .offlineMiss: "Not stored, and the origin may not be contacted"
            case .staleForbidden: "The stored response may not be served stale"
            case .originUnreachable: "The origin is unreachable"
            case .transportFailed: "The origin's response is not valid HTTP"
            case .invalidTarget: "The target is not an http or https resource"
            case .overloaded: "Too many requests are waiting for the origin"
            case .shutDown: "The gateway is stopping"
            default: "The exchange failed"
            }
        detail = error.message
        outcome = error.outcome
    }

    /// The problem of a request that is not valid, or too large.
    init(_ refusal: any RequestRefusal) {
        code = refusal.code
        title = "The request is malformed or not supported"
        status = refusal.status
        detail =
            "The request was rejected: \(refusal.code.split(separator: "-").joined(separator: " "))."
    }
}

/// Why a client's message is rejected, whatever protocol it came by.
protocol RequestRefusal: Error {
    /// Words with hyphens between them, for programs.
    var code: String { get }
    /// The status of the response to the client.
    var status: Int { get }
}
