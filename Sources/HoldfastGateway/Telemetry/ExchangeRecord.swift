import HTTPCache
import HTTPTypes
import HoldfastTracing
import NIOCore

/// One request of a client and what came of it, at its end. Metrics and the log are made from it.
struct ExchangeRecord {
    /// Where a hit's bytes were when it was served.
    enum Tier: Int, CaseIterable {
        /// In the table of the event loop, as the bytes of a whole response.
        case hot
        case memory
        case disk
    }

    /// Why a response did not reach its end.
    enum Abort: String {
        /// The client has gone.
        case client = "client-aborted"
        /// The content broke off.
        case content = "incomplete"
        /// No byte passed a tunnel for too long.
        case idle = "tunnel-idle"
        /// The gateway stopped, and the tunnel was open when its time was over.
        case drained = "tunnel-drained"
    }

    /// The number of a request among all that clients send.
    struct Ordinal {
        /// The number of the connection.
        var connection: Int64
        /// The number of the request on its connection, from 1.
        var request: Int64
    }

    /// `nil` if the bytes are no valid request.
    var request: GatewayRequest?
    var client: GatewayClient
    /// The label of the route that was chosen.
    var route: RouteLabel
    /// `nil` if the client has gone before a response.
    var status: Int?
    /// When its head had arrived.
    var start: NIODeadline
    /// When the response's head was written.
    var firstByte: NIODeadline?
    /// When the last bytes of the response were handed over to be written.
    var end: NIODeadline
    /// Bytes of content that were handed over.
    var sentBytes = 0
    /// `nil` if there is no response.
    var facts: ExchangeFacts?
    /// `nil` if it is no hit.
    var tier: Tier?
    var abort: Abort?
    /// The name of the request: see ``RequestID``.
    var requestID: String?
    var ordinal: Ordinal?
    /// The origin of the route that was chosen.
    var origin: String?
    /// How the origin responded; `nil` if the log does not want to know.
    var originReport: OriginReport?
    /// Bytes of the request's content that were handed over.
    var receivedBytes = 0
    /// `nil` if the request has none.
    var span: RecordedSpan?
    /// Whether the response began a tunnel of another protocol.
    var isTunnel = false

    /// The duration for metrics and for the level of the log: a tunnel lasts as long as its ends
    /// want, so for it the time to its head counts.
    var measuredDuration: TimeAmount { (isTunnel ? firstByte ?? end : end) - start }

    /// Takes over what a response says.
    mutating func take(_ response: GatewayResponse) {
        switch response {
        case .stored(let head, let hit, _): take(head, hit.content.readableBytes)
        case .whole(let head, let content): take(head, content.readableBytes)
        case .stream(let head, _): take(head, 0)
        case .relayed(let response, _):
            (status, facts, sentBytes) = (response.status, .relayed, response.content.readableBytes)
        }
        // The response to HEAD has no content.
        if request?.method == .head { sentBytes = 0 }
    }

    private mutating func take(_ head: GatewayResponseHead, _ length: Int) {
        (status, facts, sentBytes) = (head.response.status.code, head.facts, length)
    }

    /// The value of the label `error_type`: `nil` for a response that is whole and no problem.
    var errorType: String? { abort?.rawValue ?? facts?.problem }
}

extension TunnelMachine.Ending {
    /// Why the response of a tunnel that ended so did not reach its end; `nil` if it did.
    var abort: ExchangeRecord.Abort? {
        switch self {
        case .closed: nil
        case .clientAborted: .client
        case .originAborted: .content
        case .idle: .idle
        case .drained: .drained
        }
    }
}
