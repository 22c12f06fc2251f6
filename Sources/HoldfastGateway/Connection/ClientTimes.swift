import NIOCore

/// How long clients may take, as NIO's type. It is made once, because every request needs it.
struct ClientTimes {
    let request: TimeAmount
    let head: TimeAmount
    let content: TimeAmount
    let slowContent: TimeAmount
    let write: TimeAmount
    let closing: TimeAmount

    init(_ timeouts: GatewayConfiguration.Timeouts) {
        request = timeouts.request.timeAmount
        head = timeouts.head.timeAmount
        content = timeouts.content.timeAmount
        slowContent = timeouts.slowContent.timeAmount
        write = timeouts.write.timeAmount
        closing = timeouts.closing.timeAmount
    }
}
