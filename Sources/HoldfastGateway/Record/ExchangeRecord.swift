import HTTPCache
import HTTPTypes
import HTTPWire
import HoldfastTracing
import NIOCore

/// A client request and its result, recorded at its end. Metrics, the log, the request's span and
/// the offline forecast all read this record; ``LoopTelemetry/record(_:)`` takes it.
///
/// A hit of the hot table has its record only if one of them needs it: ``RecordedHit``.
struct ExchangeRecord {
    /// The tier that a hit was served from.
    enum Tier: Int, CaseIterable {
        /// In the event loop's table, as the bytes of a complete response.
        case hot
        case memory
        case disk
    }

    /// The reason why a response was cut short.
    enum Abort: String {
        /// The client disconnected.
        case client = "client-aborted"
        /// The content was cut short.
        case content = "incomplete"
        /// The stored content could not be read to its end: it is damaged, or was removed.
        case store = "store-failed"
        /// No byte passed through a tunnel for too long.
        case idle = "tunnel-idle"
        /// The gateway shut down, and the tunnel was still open when its time was up.
        case drained = "tunnel-drained"
    }

    /// Identifies a request among all client requests.
    struct Ordinal {
        /// The number of the connection.
        var connection: Int64
        /// The number of the request on its connection, from 1; 0 for the connection itself, if
        /// none of its requests are read.
        var request: Int64
    }

    /// `nil` if the bytes are not a valid request.
    var request: GatewayRequest?
    var client: GatewayClient
    /// The label of the chosen route.
    var route: RouteLabel
    /// `nil` if the client disconnected before a response.
    var status: Int?
    /// The time when the request's head had arrived.
    var start: NIODeadline
    /// The time when the response's head was written.
    var firstByte: NIODeadline?
    /// The time when the last bytes of the response were handed over for writing.
    var end: NIODeadline
    /// The number of bytes of content handed over for writing.
    var sentBytes = 0
    /// `nil` if there is no response.
    var facts: ExchangeFacts?
    /// The gateway's member of `Cache-Status`, as it was sent; `nil` if there is no ``span``.
    var cacheStatus: String?
    /// `nil` if the request is not a hit.
    var tier: Tier?
    var abort: Abort?
    /// The request's ID: see ``RequestID``.
    var requestID: String?
    var ordinal: Ordinal?
    /// The origin of the chosen route.
    var origin: String?
    /// The facts about the origin's response; `nil` if the log does not need them.
    var originReport: OriginReport?
    /// The number of bytes of the request's content that were delivered.
    var receivedBytes = 0
    /// `nil` if the request has no span.
    var span: RecordedSpan?
    /// How the tunnel ended; `nil` if the response did not start a tunnel for another protocol.
    var tunnelEnding: TunnelEnding?

    /// Whether this is the record of a connection that was refused, not of a request.
    var isOfConnection: Bool { ordinal?.request == 0 }

    /// The duration for metrics and for the log level. A tunnel lasts as long as its two sides
    /// want, so only the time until its head counts.
    var measuredDuration: TimeAmount { (tunnelEnding == nil ? end : firstByte ?? end) - start }

    /// The value of the label `error_type`; `nil` for a complete response that is not a problem.
    var errorType: String? { abort?.rawValue ?? facts?.problem }
}
