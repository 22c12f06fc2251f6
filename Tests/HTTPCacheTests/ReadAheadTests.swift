import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

@Suite("Bodies read ahead of their reader", .timeLimit(.minutes(20)))
struct ReadAheadTests {
    private struct Failure: Error {}

    /// A body of chunks of one byte each, and the number of chunks produced.
    private final class Source: Sendable {
        private let produced = Atomic(0)
        /// How often it was asked for a chunk.
        private let asked = Atomic(0)
        var count: Int { produced.load(ordering: .sequentiallyConsistent) }
        var questions: Int { asked.load(ordering: .sequentiallyConsistent) }

        func body(_ chunks: Int, length: Int64?, failingAt failure: Int? = nil) -> BodyStream {
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
        while !condition() { await Task.yield() }
    }

    /// Mutants: `begin` in `next` left out; two begun at a time.
    @Test("Reads one chunk ahead") func readsOneChunkAhead() async throws {
        let source = Source()
        var chunks = try await source.body(10, length: 10).readAhead().makeAsyncIterator()
        #expect(source.count == 1)
        for read in 1...8 {
            #expect(try await chunks.next()?.readableBytesView.first == UInt8(read - 1))
            await until { source.count == read + 1 }
        }
        for _ in 0..<1000 { await Task.yield() }
        #expect(source.count == 9)
    }

    /// Mutant: `rest` that is not counted.
    @Test("Stops at a known end") func stopsAtKnownEnd() async throws {
        let source = Source()
        let body = try await source.body(3, length: 3).readAhead()
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
        #expect(source.questions == 3)
        // A second reader begins again.
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
    }

    @Test("Reads a body of unknown length to its end") func readsUnknownLengthToItsEnd() async throws {
        let body = try await Source().body(3, length: nil).readAhead()
        #expect(try await body.collect(upTo: 10) == ByteBuffer(bytes: [0, 1, 2]))
    }

    /// Mutant: `try?` in `begin`.
    @Test("A broken body fails after the bytes before it")
    func brokenBodyFailsAfterItsBytes() async throws {
        var chunks = try await Source().body(3, length: 3, failingAt: 2).readAhead().makeAsyncIterator()
        #expect(try await chunks.next() != nil)
        #expect(try await chunks.next() != nil)
        await #expect(throws: Failure.self) { try await chunks.next() }
    }

    @Test("An unreadable body fails at once") func unreadableBodyFailsAtOnce() async throws {
        await #expect(throws: Failure.self) { try await Source().body(3, length: 3, failingAt: 0).readAhead() }
    }
}
