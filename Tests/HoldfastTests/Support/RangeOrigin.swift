import Foundation
import HTTPCacheSemantics
import Holdfast
import HoldfastTesting
import NIOCore
import Synchronization

/// An origin with one content that serves ranges of it, and breaks off as scripted.
final class RangeOrigin: Transport {
    struct State {
        var content: [UInt8]
        var fields: HTTPFields
        /// The bytes of each response before it breaks off, in order; later responses are complete.
        var cuts: [Int] = []
        /// Responses that replace the content, in order.
        var instead: [HTTPResponse] = []
        /// The maximum bytes of a part.
        var longestPart = Int.max
        var requests: [HTTPRequest] = []
        /// The origin waits at the cut instead of breaking off.
        var gate: HoldfastTesting.Gate?
    }

    let state: Mutex<State>

    init(_ content: [UInt8], fields: HTTPFields = [.eTag: "\"one\""]) {
        state = Mutex(State(content: content, fields: fields))
    }

    /// Changes how the origin responds.
    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    /// The `Range` field of each request.
    var ranges: [String?] { requests.map { $0.headerFields[.range] } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        state.withLock { state in
            state.requests.append(request.head)
            if !state.instead.isEmpty {
                return TransportResponse(head: state.instead.removeFirst(), body: .empty)
            }
            let fields = request.head.headerFields
            let isCurrent = fields[.ifRange].map { $0 == state.fields[.eTag] || $0 == state.fields[.lastModified] }
            var range = 0..<state.content.count
            var head = HTTPResponse(status: .ok, headerFields: state.fields)
            if isCurrent != false, let text = fields[.range], let first = Int(text.dropFirst(6).dropLast()) {
                guard first < state.content.count else {
                    head.status = .rangeNotSatisfiable
                    head.headerFields[.contentRange] = "bytes */\(state.content.count)"
                    return TransportResponse(head: head, body: .empty)
                }
                range = first..<min(state.content.count, first + min(state.longestPart, state.content.count))
                head.status = .partialContent
                head.headerFields[.contentRange] =
                    "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(state.content.count)"
            }
            head.headerFields[.contentLength] = "\(range.count)"
            let cut = state.cuts.isEmpty ? nil : state.cuts.removeFirst()
            return TransportResponse(
                head: head,
                body: Self.body(Array(state.content[range]), cut: cut, gate: state.gate)
            )
        }
    }

    private static func body(_ content: [UInt8], cut: Int?, gate: HoldfastTesting.Gate?) -> BodyStream {
        BodyStream(length: StatedLength(clamping: content.count)) {
            var rest = content[...].prefix(cut ?? .max)
            return {
                if let chunk = rest.isEmpty ? nil : Optional(rest.prefix(10_000)) {
                    rest = rest.dropFirst(chunk.count)
                    return ByteBuffer(bytes: chunk)
                }
                if cut != nil {
                    try await gate?.wait()
                    throw TransportError(code: .connectionClosed, message: "Cut.")
                }
                return nil
            }
        }
    }
}
