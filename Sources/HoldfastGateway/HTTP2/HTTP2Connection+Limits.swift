import EventLoops
import NIOCore

extension HTTP2Connection {
    /// Time limits for a client.
    struct Limits {
        let request, lateRequest, head, content, write, closing: TimeAmount
        /// The time between two checks of a client with requests in progress.
        let interval: TimeAmount

        init(_ timeouts: GatewayConfiguration.Timeouts) {
            request = timeouts.request.timeAmount
            lateRequest = timeouts.lateRequest.timeAmount
            head = timeouts.head.timeAmount
            content = timeouts.content.timeAmount
            write = timeouts.write.timeAmount
            closing = timeouts.closing.timeAmount
            let least = min(head, content, timeouts.slowContent.timeAmount, write)
            interval = max(min(.nanoseconds(least.nanoseconds / 4), .seconds(5)), .milliseconds(10))
        }
    }
}
