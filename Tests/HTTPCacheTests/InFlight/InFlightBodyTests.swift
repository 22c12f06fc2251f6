import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HTTPCache

@Suite(.timeLimit(.minutes(20))) struct InFlightBodyTests {
    private static let chunk = ByteBuffer(repeating: 0x61, count: 256 << 10)

    private func writer() async throws -> any StoredResponseWriter {
        let now = Timestamp(seconds: 0)
        let head = StoredResponseHead(status: .ok, fields: [:], requestTime: now, responseTime: now)
        let draft = ResponseDraft(
            key: StoreKey(target: try TargetURI("https://a.example/")),
            head: head,
            freshUntil: now,
            isUsableStale: true,
            storedAt: now
        )
        return try #require(try await InMemoryResponseStore().beginWrite(draft, fencingNumber: InvalidationSequence(0)))
    }

    @Test func storedBodyIsNotSlowedByIdleReader() async throws {
        let body = InFlightBody(length: nil, writer: try await writer(), onAbandoned: {})
        let slow = try #require(body.makeReader())
        for _ in 0..<40 { #expect(await body.append(Self.chunk)) }
        body.finish()
        // The window holds 1 MiB; the other nine come back from the store.
        let whole = try await slow.stream.collect(upTo: 1 << 30)
        #expect(whole.readableBytes == 40 * Self.chunk.readableBytes)
    }

    @Test func unstoredBodyRunsAtPaceOfSlowestReader() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let reader = try #require(body.makeReader())
        let appended = Atomic(0)
        let producer = Task {
            for _ in 0..<40 {
                guard await body.append(Self.chunk) else { return }
                appended.add(1, ordering: .relaxed)
            }
            body.finish()
        }
        var received = 0
        for try await chunk in reader.stream {
            received += chunk.readableBytes
            let ahead = appended.load(ordering: .relaxed) * Self.chunk.readableBytes - received
            #expect(ahead <= Int(InFlightBody.windowLimit) + 2 * Self.chunk.readableBytes)
        }
        await producer.value
        #expect(received == 40 * Self.chunk.readableBytes)
    }

    @Test func unstoredBodyWithoutReaderEnds() async throws {
        let isAbandoned = Atomic(false)
        let body = InFlightBody(length: nil, writer: nil) { isAbandoned.store(true, ordering: .relaxed) }
        var reader = body.makeReader()
        #expect(await body.append(Self.chunk))
        _ = reader
        reader = nil
        let wasAbandoned = isAbandoned.load(ordering: .relaxed)
        #expect(wasAbandoned)
        #expect(await body.append(Self.chunk) == false)
    }

    @Test func bodyWithoutItsBeginningTakesNoNewReaders() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let reader = try #require(body.makeReader())
        let producer = Task {
            for _ in 0..<40 { _ = await body.append(Self.chunk) }
            body.finish()
        }
        _ = try await reader.stream.collect(upTo: 1 << 30)
        await producer.value
        #expect(body.makeReader() == nil)
    }

    @Test func readersGetErrorAfterBytesBeforeIt() async throws {
        struct Broken: Error {}
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let reader = try #require(body.makeReader())
        _ = await body.append(Self.chunk)
        body.finish(throwing: Broken())
        var iterator = reader.stream.makeAsyncIterator()
        #expect(try await iterator.next()?.readableBytes == Self.chunk.readableBytes)
        await #expect(throws: Broken.self) { try await iterator.next() }
    }

    @Test func streamFromNetworkIsReadOnce() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let stream = try #require(body.makeReader()).stream
        body.finish()
        _ = try await stream.collect(upTo: 1)
        await #expect(throws: BodyStreamError.alreadyRead) { try await stream.collect(upTo: 1) }
    }

    @Test func cancelledReaderStopsWaiting() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let reader = try #require(body.makeReader())
        let task = Task { try await reader.stream.collect(upTo: 1) }
        await Task.yield()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
