/// The result that a case requires.
///
/// If it is no connection error, the connection must be usable afterwards: a PING is acknowledged.
package indirect enum Expectation: Sendable {
    /// GOAWAY with one of these codes, and the end of the connection. Without a GOAWAY the end is
    /// enough for a server that is not judged strictly. RFC 9113 §5.4.1
    case connectionError([ErrorCode])
    /// The end of the connection; no frame needs to say why.
    case end
    /// RST_STREAM with one of these codes. A server may treat it as a connection error. RFC 9113
    /// §5.4.1
    case streamError(UInt32, [ErrorCode])
    /// A stream error PROTOCOL_ERROR, or a response 4xx. RFC 9113 §8.1.1
    case malformed(UInt32)
    /// A complete response with one of these statuses.
    case response(UInt32, [Int])
    /// A response whose content has this length.
    case content(UInt32, Int)
    /// A complete response; the server may end the connection after it.
    case lastResponse(UInt32, [Int])
    case pingAck(String)
    /// So many SETTINGS are acknowledged, those of the opening included.
    case settingsAcks(Int)
    /// No frame was an error.
    case usable
    /// A stream error on any stream.
    case anyStreamError([ErrorCode])
    /// A complete response with this status on any stream.
    case someResponse(Int)
    case not(Expectation)
    case all([Expectation])
    case either([Expectation])

    static func connectionError(_ codes: ErrorCode...) -> Expectation { .connectionError(codes) }

    static func streamError(_ stream: UInt32, _ codes: ErrorCode...) -> Expectation { .streamError(stream, codes) }

    static func ok(_ streams: UInt32...) -> Expectation { .all(streams.map { .response($0, [200]) }) }
}

extension Expectation {
    /// Whether a PING follows the case's frames at once: its acknowledgement shows that none of
    /// them was an error.
    var needsPing: Bool {
        switch self {
        case .connectionError, .usable, .settingsAcks: true
        case .end, .streamError, .malformed, .response, .content, .lastResponse, .pingAck: false
        case .anyStreamError, .someResponse, .not: false
        case .all(let parts): parts.contains(where: \.needsPing)
        case .either(let parts): parts.contains(where: \.isUsable)
        }
    }

    var isMalformed: Bool { if case .malformed = self { true } else { false } }

    private var isUsable: Bool { if case .usable = self { true } else { false } }

    private var isConnectionError: Bool { if case .connectionError = self { true } else { false } }

    /// Whether the connection may be over at the end.
    var mayEnd: Bool { if case .lastResponse = self { true } else { false } }

    /// Whether more frames could not change the judgement.
    func isDecided(_ seen: Observation) -> Bool {
        if seen.isOver { return true }
        return switch self {
        case .connectionError, .usable: seen.isPingAcked
        case .end: false
        case .streamError(let stream, _), .malformed(let stream), .response(let stream, _), .content(let stream, _),
            .lastResponse(let stream, _):
            seen.isDecided(stream)
        case .pingAck(let payload): seen.pings.contains(payload)
        case .settingsAcks(let count): seen.settingsAcks >= count
        case .anyStreamError: !seen.resets.isEmpty
        case .someResponse: !seen.ended.isEmpty
        case .not: true
        case .all(let parts): parts.allSatisfy { $0.isDecided(seen) }
        case .either(let parts):
            // A PING says nothing about a response that is still to come.
            parts.contains { !$0.isConnectionError && $0.isDecided(seen) }
        }
    }

    /// - Parameter strictly: whether a connection error must be stated by GOAWAY, with the code
    ///   that the RFC names.
    package func isMet(by seen: Observation, strictly: Bool) -> Bool {
        guard seen.violation == nil else { return false }
        return isMet(seen, strictly) && (seen.isPingAcked || seen.isOver || mayEnd)
    }

    private func isMet(_ seen: Observation, _ strictly: Bool) -> Bool {
        switch self {
        case .connectionError(let codes):
            return seen.isConnectionError(codes, strictly)
        case .end:
            return seen.isClosed
        case .streamError(let stream, let codes):
            if let code = seen.resets[stream], codes.contains(code, strictly) { return true }
            return seen.isConnectionError(codes, strictly)
        case .malformed(let stream):
            if let status = seen.statuses[stream] { return (400..<500).contains(status) }
            if let code = seen.resets[stream], [ErrorCode.protocolError].contains(code, strictly) { return true }
            return seen.isConnectionError([.protocolError], strictly)
        case .response(let stream, let statuses):
            return !seen.isOver && seen.ended.contains(stream) && statuses.contains(seen.statuses[stream] ?? 0)
        case .content(let stream, let count):
            return !seen.isOver && seen.ended.contains(stream) && seen.content[stream, default: 0] == count
        case .lastResponse(let stream, let statuses):
            return seen.ended.contains(stream) && statuses.contains(seen.statuses[stream] ?? 0)
        case .pingAck(let payload):
            return !seen.isOver && seen.pings.contains(payload)
        case .settingsAcks(let count):
            return !seen.isOver && seen.settingsAcks == count
        case .usable:
            return !seen.isOver && seen.isPingAcked
        case .anyStreamError(let codes):
            if seen.resets.values.contains(where: { codes.contains($0, strictly) }) { return true }
            return seen.isConnectionError(codes, strictly)
        case .someResponse(let status):
            return seen.ended.contains { seen.statuses[$0] == status }
        case .not(let other):
            return !other.isMet(seen, strictly)
        case .all(let parts):
            return parts.allSatisfy { $0.isMet(seen, strictly) }
        case .either(let parts):
            return parts.contains { $0.isMet(seen, strictly) }
        }
    }
}

extension [ErrorCode] {
    /// A generic code can be used in place of a more specific one. RFC 9113 §5.4
    func contains(_ code: UInt32, _ strictly: Bool) -> Bool {
        let accepted = strictly ? self : self + [.protocolError, .internalError]
        return accepted.contains { $0.rawValue == code }
    }
}

extension Expectation: CustomStringConvertible {
    package var description: String {
        switch self {
        case .connectionError(let codes): "GOAWAY \(codes.names) and the end of the connection"
        case .end: "the end of the connection"
        case .streamError(let stream, let codes): "RST_STREAM \(codes.names) on stream \(stream)"
        case .malformed(let stream): "RST_STREAM PROTOCOL_ERROR or 4xx on stream \(stream)"
        case .response(let stream, let statuses), .lastResponse(let stream, let statuses):
            "\(statuses.map { "\($0)" }.joined(separator: " or ")) on stream \(stream)"
        case .content(let stream, let count): "\(count) bytes on stream \(stream)"
        case .pingAck(let payload): "PING '\(payload)' acknowledged"
        case .settingsAcks(let count): "\(count) SETTINGS acknowledged"
        case .usable: "a connection that stays usable"
        case .anyStreamError(let codes): "RST_STREAM \(codes.names) on a stream"
        case .someResponse(let status): "\(status) on a stream"
        case .not(let other): "no \(other)"
        case .all(let parts): parts.map(\.description).joined(separator: ", ")
        case .either(let parts): parts.map(\.description).joined(separator: " or ")
        }
    }
}

extension [ErrorCode] {
    fileprivate var names: String { map { ErrorCode.name($0.rawValue) }.joined(separator: "/") }
}
