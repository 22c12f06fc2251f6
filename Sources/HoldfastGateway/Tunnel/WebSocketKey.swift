import Crypto

/// The key of a WebSocket opening handshake, and the response that proves that a server understood
/// the key. RFC 6455 §1.3
struct WebSocketKey: Hashable {
    /// The value of `Sec-WebSocket-Key`.
    let value: String

    /// Creates a key of 16 random bytes.
    init() { value = Self.base64((0..<16).map { _ in UInt8.random(in: .min ... .max) }) }

    init(_ value: String) { self.value = value }

    /// The matching value of `Sec-WebSocket-Accept`.
    var accept: String {
        Self.base64(Array(Insecure.SHA1.hash(data: Array((value + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))))
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Encodes bytes in Base64. RFC 4648 §4
    static func base64(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = (0..<3).reduce(UInt32(0)) { $0 << 8 | UInt32(start + $1 < bytes.count ? bytes[start + $1] : 0) }
            for place in 0..<4 {
                let digit = digits[Int(bits >> (18 - 6 * UInt32(place)) & 63)]
                text.append(place <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
