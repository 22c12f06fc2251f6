package import NIOCore

/// A whole response that goes to its caller as its bytes came. No cache may store it, and no code
/// needs its fields.
///
/// A class, because it is passed on through several functions.
package final class RelayedResponse: Sendable {
    /// The message, in HTTP/1.1.
    package let bytes: ByteBuffer
    package let status: Int
    /// The header lines that are passed on.
    package let runs: Runs
    /// Bytes in the head.
    package let headLength: Int
    package let hasDate: Bool
    /// Whether the response's connection may take another request.
    package let isKeptAlive: Bool

    package init(
        bytes: ByteBuffer,
        status: Int,
        runs: Runs,
        headLength: Int,
        hasDate: Bool,
        isKeptAlive: Bool
    ) {
        self.bytes = bytes
        self.status = status
        self.runs = runs
        self.headLength = headLength
        self.hasDate = hasDate
        self.isKeptAlive = isKeptAlive
    }

    /// Parts of a head, without an allocation: at most four, in order, as offsets in bytes from the
    /// message's first.
    package struct Runs: Sendable {
        /// The bounds of each part, in 16 bits each.
        private var (low, high): (UInt64, UInt64) = (0, 0)
        package private(set) var count = 0

        package init() {}

        package subscript(_ index: Int) -> Range<Int> {
            let bounds = (index < 2 ? low : high) >> (UInt64(index & 1) * 32)
            return Int(bounds & 0xFFFF)..<Int(bounds >> 16 & 0xFFFF)
        }

        /// Adds a range after the present ones.
        ///
        /// - Parameter run: up to 65,535.
        /// - Returns: `false` if there is no room for it.
        package mutating func append(_ run: Range<Int>) -> Bool {
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

    /// The bytes after the head.
    package var content: ByteBuffer {
        bytes.getSlice(at: bytes.readerIndex + headLength, length: contentLength) ?? ByteBuffer()
    }

    package var contentLength: Int { bytes.readableBytes - headLength }
}
