package import NIOCore

/// Decides how large the buffers are that a connection reads into. The size doubles when a read
/// fills a buffer, and halves after two reads in a row that need at most half of it.
///
/// NIO keeps a connection's buffer, so an idle connection keeps one of the first size. NIO's
/// `AdaptiveRecvByteBufferAllocator` follows the same rule, but it needs an allocation for each
/// connection.
package struct ReceiveBufferSizes: RecvByteBufferAllocator {
    private let minimum, maximum: UInt32
    private var next: UInt32
    /// Whether the last read needed at most half of the size.
    private var isLarge = false

    /// - Parameters:
    ///   - first: the size of the first buffer in bytes, which is also the minimum. A power of two,
    ///     because NIO allocates no other sizes.
    ///   - maximum: the maximum size in bytes; a power of two.
    package init(first: Int, maximum: Int) {
        minimum = UInt32(clamping: first)
        self.maximum = UInt32(clamping: maximum)
        next = minimum
    }

    package func nextBufferSize() -> Int? { Int(clamping: next) }

    package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
        allocator.buffer(capacity: Int(clamping: next))
    }

    package mutating func record(actualReadBytes count: Int) -> Bool {
        if count >= Int(clamping: next), next < maximum {
            next *= 2
            isLarge = false
            return true
        }
        let wasLarge = isLarge
        isLarge = next > minimum && count <= Int(clamping: next / 2)
        if wasLarge, isLarge {
            next /= 2
            isLarge = false
        }
        return false
    }
}
