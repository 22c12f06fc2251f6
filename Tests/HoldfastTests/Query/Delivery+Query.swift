import NIOCore

@testable import Holdfast

extension Delivery<String> {
    /// A stored value. Values of one version have one content.
    static func stored(_ text: String, _ version: Int64, isStale: Bool = false, isInvalidated: Bool = false) -> Self {
        Delivery(
            emission: Emission(value: text, source: .store, isStale: isStale || isInvalidated),
            bytes: ByteBuffer(string: text),
            bodyID: version,
            receivedAt: Timestamp(seconds: 0),
            isInvalidated: isInvalidated
        )
    }

    /// A response of the origin.
    static func network(_ text: String) -> Self {
        Delivery(emission: Emission(value: text), bytes: ByteBuffer(string: text))
    }

    /// A stored value that replaces the response of an origin that does not respond.
    static func fallback(_ text: String, _ version: Int64) -> Self {
        var delivery = stored(text, version, isStale: true)
        delivery.emission.outcome.detail = .unreachable
        return delivery
    }
}

extension HoldfastError {
    static let unreachable = HoldfastError(code: .originUnreachable, message: "The origin does not respond.")
    static let broken = HoldfastError(code: .status, message: "The origin responded with 500.", status: 500)
}
