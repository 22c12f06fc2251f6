import NIOCore
import Testing

@testable import EventLoops

@Suite(.timeLimit(.minutes(20))) struct ReceiveBufferSizesTests {
    /// The reads, and the size of the buffer after each.
    static let table: [(reads: [Int], sizes: [Int])] = [
        // A read that fills its buffer doubles the next one, up to the maximum.
        ([512, 1024, 2048, 2048], [1024, 2048, 2048, 2048]),
        ([511], [512]),
        // The second short read in a row halves it, down to the first size.
        ([512, 1024, 1024, 1024], [1024, 2048, 2048, 1024]),
        ([512, 512, 1, 1, 1], [1024, 1024, 512, 512, 512]),
        // A longer read in between starts again.
        ([512, 1, 513, 1, 1], [1024, 1024, 1024, 1024, 512]),
    ]

    /// Mutants: the size grows without a limit; one short read halves it.
    @Test(arguments: table) func sizeFollowsReads(reads: [Int], sizes: [Int]) {
        var allocator = ReceiveBufferSizes(first: 512, maximum: 2048)
        var seen: [Int] = []
        for read in reads {
            let before = allocator.nextBufferSize() ?? 0
            let mayGrow = allocator.record(actualReadBytes: read)
            let size = allocator.nextBufferSize() ?? 0
            #expect(mayGrow == (size > before))
            #expect(allocator.buffer(allocator: ByteBufferAllocator()).capacity == size)
            seen.append(size)
        }
        #expect(seen == sizes)
    }
}
