package import NIOCore

/// A whole response that goes to its caller as its octets came: no cache may store it, and nobody asks what its fields are.
package struct RelayedResponse: Sendable {
    /// The message, in HTTP/1.1.
    package let octets: ByteBuffer
    package let status: Int
    /// Where the lines that pass begin and end, in octets behind the message's first: up to four runs of them, of which the rest are empty.
    package let runs: SIMD8<UInt16>
    /// Octets in the head.
    package let headLength: Int
    package let hasDate: Bool
    /// Whether the connection that it came by may take another request.
    package let isKeptAlive: Bool

    package init(
        octets: ByteBuffer,
        status: Int,
        runs: SIMD8<UInt16>,
        headLength: Int,
        hasDate: Bool,
        isKeptAlive: Bool
    ) {
        self.octets = octets
        self.status = status
        self.runs = runs
        self.headLength = headLength
        self.hasDate = hasDate
        self.isKeptAlive = isKeptAlive
    }

    /// The octets behind the head.
    package var content: ByteBuffer {
        octets.getSlice(at: octets.readerIndex + headLength, length: contentLength) ?? ByteBuffer()
    }

    package var contentLength: Int { octets.readableBytes - headLength }
}

/// What a ``CallbackTransport`` answers with.
package enum TransportAnswer: Sendable {
    case response(TransportResponse)
    /// Only to a request that may have it: ``TransportRequest/mayBeRelayed``.
    case relayed(RelayedResponse)
}
