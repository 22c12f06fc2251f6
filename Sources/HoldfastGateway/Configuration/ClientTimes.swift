import EventLoops
import NIOCore

/// The times that clients have for their steps. Converted to NIO's type once per configuration,
/// because every request needs them.
final class ClientTimes: Sendable {
    let request, lateRequest, head, content, closing, write: TimeAmount

    init(_ timeouts: GatewayConfiguration.Timeouts) {
        request = timeouts.request.timeAmount
        lateRequest = timeouts.lateRequest.timeAmount
        head = timeouts.head.timeAmount
        content = timeouts.content.timeAmount
        closing = timeouts.closing.timeAmount
        write = timeouts.write.timeAmount
    }
}
