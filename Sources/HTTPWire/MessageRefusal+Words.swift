extension MessageRefusal {
    package var isOfLimit: Bool {
        switch reason {
        case .startLineTooLong, .fieldsTooLarge, .chunkExtensionsTooLarge, .trailersTooLarge, .timedOut: true
        default: false
        }
    }

    /// The fault and the next step. It repeats nothing of the message.
    package var words: String {
        switch reason {
        case .bareLineFeed: "A line ends in LF. End lines in CRLF."
        case .bareCarriageReturn: "A line contains CR without LF. End lines in CRLF."
        case .startLine where detail == .proxyHeader:
            "The connection begins with a PROXY protocol header, which this listener does not expect."
        case .startLine: "The first line is not a request line of HTTP, such as 'GET / HTTP/1.1'."
        case .startLineTooLong:
            "The request line has more than \(limit("8 KiB")). Send a shorter URL."
        case .version: "The version of HTTP is not supported. Use HTTP/1.1 or HTTP/2."
        case .method where detail == .forwardProxy:
            "CONNECT opens a tunnel through a forward proxy, and the gateway opens none. Send the request to the gateway's own URL. If 'forward-proxy' lists the host, request its 'http://' URL through the proxy, where 'upgrade: https' sends it over TLS, or '/proxy/https/HOST/PATH' at the gateway."
        case .method: "The method is missing, is not a token, or is not supported."
        case .target: target
        case .host: host
        case .fieldLine: fieldLine
        case .fieldFolding: "A field value continues on the next line, which is obsolete. Send it on one line."
        case .fieldValue: "A field value contains a byte that is not allowed."
        case .fieldsTooLarge: fields
        case .contentLength: "'Content-Length' is malformed, repeated, or contradicts the content."
        case .transferEncoding:
            "'Transfer-Encoding' is malformed, or contradicts 'Content-Length' or the version of HTTP."
        case .transferCoding: "The transfer coding is not supported. Use 'chunked' alone."
        case .expectation: "The expectation in 'Expect' is not supported. Use '100-continue'."
        case .chunkSize: "The size of a chunk is malformed."
        case .chunkEnd: "A chunk does not end where its size says."
        case .chunkExtensionsTooLarge: "The extensions of chunks exceed the limit. Send the content without them."
        case .trailersTooLarge: "The trailers have more than \(limit("8 KiB")). Send fewer or shorter ones."
        case .timedOut: "The request did not arrive in time."
        case .truncated: "The connection was closed before the request ended."
        case .tooManyInterimResponses: "Too many interim responses preceded the response."
        case .switchedProtocols: "The protocol was switched without a request for that."
        case .tls: "The first byte looks like TLS, and this port does not use TLS. Use an 'http://' URL."
        }
    }

    package var setting: String? {
        switch (reason, detail) {
        case (.fieldsTooLarge, .lines): nil
        case (.fieldsTooLarge, _): "limits.request-head"
        case (.startLineTooLong, _): isOfRequestHead ? "limits.request-head" : nil
        default: nil
        }
    }

    private var target: String {
        switch detail {
        case .targetOutsideASCII: "The request target contains a byte outside ASCII. Percent-encode it."
        case .fragment: "The request target contains a '#'. Remove it and what follows, or percent-encode it."
        default: "The request target is missing or malformed."
        }
    }

    private var fieldLine: String {
        switch detail {
        case .missingColon: "A field line has no colon. Write 'Name: value'."
        case .spaceBeforeColon: "A field line has whitespace before its colon. Remove it."
        default: "A field line has a malformed name, or a name that is not allowed here."
        }
    }

    private var host: String {
        switch detail {
        case .missingHost: "The request has no 'Host' field. Send exactly one."
        case .repeatedHost: "The request has several 'Host' fields. Send exactly one."
        case .contradictoryHost: "'Host' and ':authority' name different hosts. Send only one of them."
        default: "'Host' or ':authority' is not a host with an optional port."
        }
    }

    private var fields: String {
        if case .lines = detail { return "The request has more than \(limit("128 field lines")). Send fewer fields." }
        return
            "The request's fields have more than \(limit("64 KiB")). Send shorter or fewer fields, such as cookies."
    }

    /// Whether the limit of the request line is lower than the default because of
    /// 'limits.request-head'.
    private var isOfRequestHead: Bool {
        if case .bytes(let number) = detail { number < MessageLimits().startLine } else { false }
    }

    private func limit(_ standard: String) -> String {
        switch detail {
        case .bytes(let number): "\(number) bytes"
        case .lines(let number): "\(number) field lines"
        default: standard
        }
    }
}
