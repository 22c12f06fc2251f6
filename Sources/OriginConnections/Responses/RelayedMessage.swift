import HTTPCache
import HTTPCacheSemantics
package import HTTPTypes
import HTTPWire
package import NIOCore

/// A complete HTTP/1.1 response from an origin that clients receive as its original bytes.
///
/// A class, because it is passed through several functions.
package final class RelayedMessage: RelayedResponse {
    /// The maximum length of content that is written together with the head, in bytes.
    package static let shortContent = 4 << 10

    package let bytes: ByteBuffer
    package let status: Int
    /// The lines of the head to relay.
    package let runs: Runs
    /// The length of the head in bytes.
    package let headLength: Int
    package let hasDate: Bool
    /// Whether the response's connection can be reused.
    let isKeptAlive: Bool
    /// Whether the response has fields that may contain URLs of the origin.
    package let hasReferences: Bool
    /// The position of the value of `Content-Type`, counted from the first byte.
    private let mediaType: Range<Int>?

    /// Creates a relayed response from the bytes received for a GET. Returns `nil` unless the bytes
    /// are one complete response that states its content's length, forbids storing with
    /// `Cache-Control`, and can be relayed line by line. Lines may be left out, but not changed.
    ///
    /// ``ResponseDecoder`` handles all other responses, and states why a response is rejected.
    init?(_ bytes: ByteBuffer, limits: MessageLimits) {
        var reading = Reading()
        let headLength = bytes.withUnsafeReadableBytes { bytes -> Int? in
            guard let length = HeadEnd.length(of: bytes), length <= min(limits.startLine, limits.fieldBlock, 0xFFFF),
                reading.read(bytes.part(0..<(length - 2)), count: limits.fieldCount),
                reading.length == StatedLength(clamping: bytes.count - length)
            else { return nil }
            return length
        }
        guard let headLength else { return nil }
        self.bytes = bytes
        self.headLength = headLength
        status = reading.status
        runs = reading.runs
        hasDate = reading.hasDate
        isKeptAlive = !reading.connection.closes
        hasReferences = reading.hasReferences
        mediaType = reading.mediaType
    }

    /// Up to four parts of a head in order, as byte offsets from the start of the message. Needs no
    /// allocation.
    package struct Runs {
        /// The lower and the upper bound of each part.
        private var bounds = SIMD8<UInt16>()
        package private(set) var count = 0

        package subscript(_ index: Int) -> Range<Int> { Int(bounds[2 * index])..<Int(bounds[2 * index + 1]) }

        /// Adds a range after the existing ranges.
        ///
        /// - Parameter run: must end at 65,535 or less.
        /// - Returns: `false` if there is no room for the range.
        mutating func append(_ run: Range<Int>) -> Bool {
            let isConnected = count > 0 && self[count - 1].upperBound == run.lowerBound
            if !isConnected {
                guard count < 4 else { return false }
                bounds[2 * count] = UInt16(run.lowerBound)
                count += 1
            }
            bounds[2 * count - 1] = UInt16(run.upperBound)
            return true
        }
    }

    /// The value of `Content-Type`; `nil` if there is none.
    package var contentType: String? {
        mediaType.flatMap { bytes.getString(at: bytes.readerIndex + $0.lowerBound, length: $0.count) }
    }

    package var content: ByteBuffer {
        bytes.getSlice(at: bytes.readerIndex + headLength, length: contentLength) ?? ByteBuffer()
    }

    package var contentLength: Int { bytes.readableBytes - headLength }

    package func parsedHead() -> HTTPResponse {
        // The limits were already enforced when this was created.
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (headLength, headLength, headLength)
        var decoder = ResponseDecoder(method: .get, limits: limits)
        decoder.append(bytes)
        guard case .head(let head)? = try? decoder.next() else { return HTTPResponse(status: .init(code: status)) }
        return head.response
    }
}
