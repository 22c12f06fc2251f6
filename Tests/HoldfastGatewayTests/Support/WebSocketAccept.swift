@testable import HoldfastGateway

/// The value of `Sec-WebSocket-Accept`. `WebSocketKeyTests` compare it with that of RFC 6455.
enum WebSocketAccept {
    static func value(for key: String) -> String { WebSocketKey(key).accept }
}
