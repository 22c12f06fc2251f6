/// The reason why a message is rejected.
///
/// A client gets the status, and its connection is closed, because its next request could not be
/// found reliably. If an origin's message is rejected, the exchange fails and the connection is
/// closed.
package struct MessageRefusal: RequestRefusal, Hashable {
    /// The fault, for people and programs.
    package enum Reason: String, Hashable, CaseIterable {
        case bareLineFeed = "bare-line-feed"
        case bareCarriageReturn = "bare-carriage-return"
        case startLine = "start-line"
        case startLineTooLong = "start-line-too-long"
        case version = "version"
        case method = "method"
        case target = "target"
        case host = "host"
        case fieldLine = "field-line"
        case fieldFolding = "field-folding"
        case fieldValue = "field-value"
        case fieldsTooLarge = "fields-too-large"
        case contentLength = "content-length"
        case transferEncoding = "transfer-encoding"
        case transferCoding = "transfer-coding"
        case expectation = "expectation"
        case chunkSize = "chunk-size"
        case chunkEnd = "chunk-end"
        case chunkExtensionsTooLarge = "chunk-extensions-too-large"
        case trailersTooLarge = "trailers-too-large"
        case timedOut = "timed-out"
        case truncated = "truncated"
        case tooManyInterimResponses = "too-many-interim-responses"
        case switchedProtocols = "switched-protocols"
        /// The first byte is that of a TLS handshake, on a listener without TLS.
        case tls
    }

    /// More about a fault that has several forms.
    package enum Detail: Hashable, Sendable {
        case missingHost
        case repeatedHost
        /// `Host` and `:authority` differ.
        case contradictoryHost
        /// The method CONNECT, as clients send it to a forward proxy.
        case forwardProxy
        /// The header of the PROXY protocol, version 1, on a listener without it.
        case proxyHeader
        /// The request target contains a byte outside ASCII.
        case targetOutsideASCII
        /// The request target contains a '#'.
        case fragment
        /// A field line contains no colon.
        case missingColon
        /// A field name is followed by whitespace. RFC 9112 §5.1
        case spaceBeforeColon
        /// The message has more bytes than this limit.
        case bytes(Int)
        /// The message has more lines than this limit.
        case lines(Int)
    }

    /// The fault.
    package var reason: Reason
    /// The status of the response to the client that sent the message.
    package var status: Int
    /// `nil` if nothing more is known.
    package var detail: Detail?

    package var code: String { reason.rawValue }

    package init(_ reason: Reason, status: Int = 400, _ detail: Detail? = nil) {
        self.reason = reason
        self.status = status
        self.detail = detail
    }
}
