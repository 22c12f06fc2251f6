import HTTPWire
import NIOCore

/// Tracks which request a connection to an origin is serving. This decides what received bytes
/// mean, because HTTP/1.1 has no other way to tell which request a response is for. RFC 9112 §9.2
///
/// Bytes that arrive before a request is sent are not its response, even if they look like one.
struct ResponseTurn: Sendable, Hashable {
    /// The meaning of received bytes.
    enum Arrival: Sendable, Hashable {
        /// The bytes belong to the response to the request that was sent.
        case response
        /// The bytes arrived after the request was sent but do not begin a response: they follow
        /// the previous response. They make the response to the request malformed.
        case misplaced(Stray)
        /// The bytes belong to no request. The connection must take no more requests.
        case stray(Stray)
        /// The bytes are ignored: the exchange was given up, and its connection is closing.
        case late
    }

    /// Bytes that are not part of the previous response.
    enum Stray: Sendable, Hashable {
        /// A 408, which an origin may send before it closes an idle connection. RFC 9110 §15.5.9
        case timeout
        /// Only line ends, which no client mistakes for a response. RFC 9112 §9.2
        case lineEnds
        /// Bytes that the next request could mistake for its response. The origin is suspect.
        case bytes
        /// Bytes like these on a connection that has had no response.
        case greeting
    }

    private enum State: Hashable {
        /// No request is in progress.
        case idle
        /// A request was accepted, and no byte of it was sent.
        case begun
        /// The request was sent, and no bytes have arrived since.
        case sent
        case receiving
        case over
    }

    private var state = State.idle
    private var hasResponded = false

    /// Whether a request was accepted but none of it was sent.
    var isUnsent: Bool { state == .begun }

    mutating func begin() { state = .begun }

    mutating func send() { if state == .begun { state = .sent } }

    /// Records that the request is returned unsent.
    mutating func giveBack() { state = .idle }

    /// Records that the response is complete.
    mutating func end() {
        state = .idle
        hasResponded = true
    }

    /// Records that the exchange is given up.
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

    /// Classifies bytes that arrived together with the end of a response.
    static func stray(behindResponse bytes: ByteBuffer) -> Stray {
        bytes.readableBytesView.allSatisfy { $0 == .carriageReturn || $0 == .lineFeed } ? .lineEnds : .bytes
    }

    private func stray(_ bytes: ByteBuffer) -> Stray {
        if StatusLine.isRequestTimeout(bytes) { return .timeout }
        let stray = Self.stray(behindResponse: bytes)
        return stray == .bytes && !hasResponded ? .greeting : stray
    }
}
