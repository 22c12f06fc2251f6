import HTTPCache
import HTTPTypes
import NIOCore

/// A whole response of an origin in HTTP/1.1, which a client gets as its bytes came.
///
/// A class, because it is passed on through several functions.
final class RelayedMessage: RelayedResponse {
    /// The longest content that is written together with the head, in bytes.
    static let shortContent = 4 << 10

    let bytes: ByteBuffer
    let status: Int
    /// The header lines that are passed on.
    let runs: Runs
    /// Bytes in the head.
    let headLength: Int
    let hasDate: Bool
    /// Whether the response's connection may take another request.
    let isKeptAlive: Bool

    init(_ bytes: ByteBuffer, status: Int, runs: Runs, headLength: Int, hasDate: Bool, isKeptAlive: Bool) {
        self.bytes = bytes
        self.status = status
        self.runs = runs
        self.headLength = headLength
        self.hasDate = hasDate
        self.isKeptAlive = isKeptAlive
    }

    /// Parts of a head, without an allocation: at most four, in order, as offsets in bytes from the
    /// message's first.
    struct Runs {
        /// The bounds of each part, in 16 bits each.
        private var (low, high): (UInt64, UInt64) = (0, 0)
        private(set) var count = 0

        subscript(_ index: Int) -> Range<Int> {
            let bounds = (index < 2 ? low : high) >> (UInt64(index & 1) * 32)
            return Int(bounds & 0xFFFF)..<Int(bounds >> 16 & 0xFFFF)
        }

        /// Adds a range after the present ones.
        ///
        /// - Parameter run: up to 65,535.
        /// - Returns: `false` if there is no room for it.
        mutating func append(_ run: Range<Int>) -> Bool {
            if count > 0, self[count - 1].upperBound == run.lowerBound {
                set(count - 1, self[count - 1].lowerBound..<run.upperBound)
                return true
            }
            guard count < 4 else { return false }
            set(count, run)
            count += 1
            return true
        }

        private mutating func set(_ index: Int, _ run: Range<Int>) {
            let shift = UInt64(index & 1) * 32
            let bounds = (UInt64(run.lowerBound) | UInt64(run.upperBound) << 16) << shift
            let others = ~(UInt64(0xFFFF_FFFF) << shift)
            if index < 2 { low = low & others | bounds } else { high = high & others | bounds }
        }
    }

    var content: ByteBuffer {
        bytes.getSlice(at: bytes.readerIndex + headLength, length: contentLength) ?? ByteBuffer()
    }

    var contentLength: Int { bytes.readableBytes - headLength }

    func parsedHead() -> HTTPResponse {
        // The limits were kept when this was made.
        var limits = MessageLimits()
        (limits.startLine, limits.fieldBlock, limits.fieldCount) = (headLength, headLength, headLength)
        var decoder = ResponseDecoder(method: .get, limits: limits)
        decoder.append(bytes)
        guard case .head(let head)? = try? decoder.next() else { return HTTPResponse(status: .init(code: status)) }
        return head.response
    }
}
