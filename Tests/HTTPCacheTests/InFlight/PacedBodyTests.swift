import HTTPCacheSemantics
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

/// Bodies read one chunk at a time.
@Suite(.timeLimit(.minutes(20)))
struct PacedBodyTests {
    private struct Failure: Error {}

    /// A body of chunks of one byte each, and the number of chunks produced.
    private final class Source: Sendable {
        private let produced = Atomic(0)
        /// How often it was asked for a chunk.
        private let asked = Atomic(0)
        var count: Int { produced.load(ordering: .sequentiallyConsistent) }
        var questions: Int { asked.load(ordering: .sequentiallyConsistent) }

        func body(_ chunks: Int, length: StatedLength?, failingAt failure: Int? = nil) -> BodyStream {
            BodyStream(length: length) {
                var index = 0
                return {
                    self.asked.add(1, ordering: .sequentiallyConsistent)
                    if index == failure { throw Failure() }
                    guard index < chunks else { return nil }
                    defer { index += 1 }
                    self.produced.add(1, ordering: .sequentiallyConsistent)
                    return ByteBuffer(bytes: [UInt8(truncatingIfNeeded: index)])
                }
            }
        }
    }

    private func until(_ condition: () -> Bool) async {
        while !condition(), !Task.isCancelled { await Task.yield() }
    }

    private let permits = ContentPermits(bytes: 1 << 20)

    /// The body, with a permit for it.
    private func paced(_ body: BodyStream) async throws -> BodyStream {
        try await body.paced(in: try #require(await permits.enter(.none)))
    }

    /// Mutant: the next chunk is read while the one before is written.
    @Test func readsNoChunkBeforeItIsAskedFor() async throws {
        let source = Source()
        var chunks = try await paced(source.body(10, length: 10)).makeAsyncIterator()
        for read in 1...8 {
            #expect(try await chunks.next()?.readableBytesView.first == UInt8(read - 1))
            for _ in 0..<1000 { await Task.yield() }
            #expect(source.count == read)
        }
    }

    /// A response that waits for its next chunk has nothing in memory, and one that has ended has
    /// no permit.
    @Test func givesItsPlaceBackBetweenTwoChunks() async throws {
        let (permits, source) = (ContentPermits(bytes: ContentPermits.permitLength), Source())
        let body = try await source.body(2, length: 2).paced(in: try #require(await permits.enter(.none)))
        // Takes the permit for a moment, and tells how many chunks had been read by then.
        let other = Task {
            let permit = await permits.enter(.none)
            defer { withExtendedLifetime(permit) {} }
            return permit == nil ? 0 : source.count
        }
        await until { permits.waitingCount == 1 }
        #expect(try await body.collect(upTo: 10).readableBytes == 2)
        #expect(await other.value == 1)
        #expect(permits.count == 0)
    }

    /// Mutant: `rest` that is not counted.
    @Test func stopsAtKnownEnd() async throws {
        let source = Source()
        let body = try await paced(source.body(3, length: 3))
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
        #expect(source.questions == 3)
        // A second reader begins again.
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
    }

    @Test func readsUnknownLengthToItsEnd() async throws {
        let body = try await paced(Source().body(3, length: nil))
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
    }

    @Test func brokenBodyFailsAfterItsBytes() async throws {
        var chunks = try await paced(Source().body(3, length: 3, failingAt: 2)).makeAsyncIterator()
        #expect(try await chunks.next() != nil)
        #expect(try await chunks.next() != nil)
        await #expect(throws: Failure.self) { try await chunks.next() }
    }

    @Test func unreadableBodyFailsAtOnce() async throws {
        await #expect(throws: Failure.self) { try await paced(Source().body(3, length: 3, failingAt: 0)) }
    }
}
