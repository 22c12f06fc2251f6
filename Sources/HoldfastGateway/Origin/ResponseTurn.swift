import NIOCore

/// Whose turn it is on a connection to an origin, and thus what bytes that come mean: HTTP/1.1 has
/// nothing else that tells which request a response is for. RFC 9112 §9.2
///
/// Bytes that come before a request is sent are no response to it, however much they look like one.
struct ResponseTurn: Sendable, Hashable {
    /// The meaning of bytes that came.
    enum Arrival: Sendable, Hashable {
        /// They belong to the response to the request that was sent.
        case response
        /// They come after the request was sent and begin no response: they stand behind the
        /// response before. The response to the request is malformed with them.
        case misplaced(Stray)
        /// They belong to no request. The connection must take none.
        case stray(Stray)
        /// Nothing: the exchange was given up, and its connection closes.
        case late
    }

    /// Bytes that are no part of the response before them.
    enum Stray: Sendable, Hashable {
        /// A 408, which an origin may send before it closes an idle connection. RFC 9110 §15.5.9
        case timeout
        /// Line ends alone, which no client takes for a response. RFC 9112 §9.2
        case lineEnds
        /// Bytes that the next request could take for its response. The origin is suspect.
        case bytes
        /// Such bytes on a connection that has had no response: they stand behind none.
        case greeting
    }

    private enum State: Hashable {
        /// No request is under way.
        case idle
        /// A request was accepted, and no byte of it was sent.
        case begun
        /// The request was sent, and no byte has come since.
        case sent
        case receiving
        case over
    }

    private var state = State.idle
    private var hasResponded = false

    /// Whether a request was accepted of which no byte was sent.
    var isUnsent: Bool { state == .begun }

    mutating func begin() { state = .begun }

    mutating func send() { if state == .begun { state = .sent } }

    /// A request is given back of which nothing was sent.
    mutating func giveBack() { state = .idle }

    /// The response is complete.
    mutating func end() {
        state = .idle
        hasResponded = true
    }

    /// The exchange is given up.
    mutating func giveUp() { state = .over }

    mutating func receive(_ bytes: ByteBuffer) -> Arrival {
        switch state {
        case .idle, .begun: return .stray(stray(bytes))
        case .sent:
            state = .receiving
            guard hasResponded, !StatusLine.canBegin(bytes) else { return .response }
            return .misplaced(stray(bytes))
        case .receiving: return .response
        case .over: return .late
        }
    }

    /// Judges bytes that came together with the end of a response.
    static func stray(behindResponse bytes: ByteBuffer) -> Stray {
        bytes.readableBytesView.allSatisfy { $0 == .carriageReturn || $0 == .lineFeed } ? .lineEnds : .bytes
    }

    private func stray(_ bytes: ByteBuffer) -> Stray {
        if StatusLine.isRequestTimeout(bytes) { return .timeout }
        let stray = Self.stray(behindResponse: bytes)
        return stray == .bytes && !hasResponded ? .greeting : stray
    }
}
