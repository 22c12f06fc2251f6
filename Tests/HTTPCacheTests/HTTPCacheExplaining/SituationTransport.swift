import HTTPCache
import HTTPTypes
import NIOCore
import Synchronization

/// An origin in one of the situations that an explanation covers.
final class SituationTransport: Transport {
    enum Situation: String, CaseIterable, Sendable {
        case reachable, unreachable, failing, offline
    }

    private let situation: Situation
    private let sent = Mutex<[HTTPRequest]>([])

    init(_ situation: Situation) { self.situation = situation }

    /// The requests that arrived, in order.
    var requests: [HTTPRequest] { sent.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        sent.withLock { $0.append(request.head) }
        switch situation {
        case .reachable: return response(to: request.head)
        case .failing:
            return TransportResponse(head: HTTPResponse(status: .serviceUnavailable), body: .empty)
        case .unreachable, .offline:
            throw TransportError(code: .connect, message: "Refused, as this test wants it.")
        }
    }

    /// A 304 for the first tag of a condition; without one a new response that is not stored.
    private func response(to request: HTTPRequest) -> TransportResponse {
        var head = HTTPResponse(status: .ok, headerFields: [.cacheControl: "no-store"])
        if let condition = request.headerFields[.ifNoneMatch] {
            head = HTTPResponse(status: .notModified)
            head.headerFields[.eTag] = condition.split(separator: ",").first.map(String.init)
        } else if request.headerFields.contains(.ifModifiedSince) {
            head = HTTPResponse(status: .notModified)
        }
        return TransportResponse(head: head, body: .empty)
    }
}
