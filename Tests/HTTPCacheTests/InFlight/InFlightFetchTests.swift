import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

@Suite(.timeLimit(.minutes(20))) struct InFlightFetchTests {
    private let fencingNumber = InvalidationSequence(0)
    private let head = StoredResponseHead(
        status: .ok,
        fields: [:],
        requestTime: Timestamp(seconds: 0),
        responseTime: Timestamp(seconds: 0)
    )
    private let response = TransportResponse(
        head: HTTPResponse(status: .ok),
        body: BodyStream(ByteBuffer(string: "private"))
    )

    @Test func unshareableResponseGoesOnlyToItsRequest() async throws {
        let inFlight = InFlightFetch(fencingNumber: fencingNumber)
        #expect(inFlight.join() && inFlight.join())
        inFlight.publish(.unshared(response, responseTime: Timestamp(seconds: 0)))
        guard case .released(.ok) = try await inFlight.waitForHead(isLeader: false) else {
            Issue.record("A follower was given the leader's response.")
            return
        }
        guard case .exclusive = try await inFlight.waitForHead(isLeader: true) else {
            Issue.record("The leader was not given its response.")
            return
        }
    }

    /// One request, one response: it is not sent again. Mutant: `makeReader` without
    /// `evenIfBroken`.
    @Test func brokenResponseReachesCallerThatWakesLate() async throws {
        let inFlight = InFlightFetch(fencingNumber: fencingNumber)
        #expect(inFlight.join() && inFlight.join())
        let body = InFlightBody(length: 10, writer: nil) {}
        inFlight.publish(.shared(head, response.head, body))
        _ = await body.append(ByteBuffer(string: "some"))
        body.finish(throwing: BodyStreamError.truncated(expected: 10, received: 4))
        guard case .shared(_, _, let reader, _) = try await inFlight.waitForHead(isLeader: true) else {
            Issue.record("The leader was sent to ask again.")
            return
        }
        var iterator = reader.stream.makeAsyncIterator()
        #expect(try await iterator.next() == ByteBuffer(string: "some"))
        await #expect(throws: BodyStreamError.self) { _ = try await iterator.next() }
        guard case .released = try await inFlight.waitForHead(isLeader: false) else {
            Issue.record("A follower was given what broke off.")
            return
        }
    }

    @Test func unshareableResponseOfGoneLeaderIsDropped() async throws {
        let inFlight = InFlightFetch(fencingNumber: fencingNumber)
        #expect(inFlight.join() && inFlight.join())
        let leader = Task { try await inFlight.waitForHead(isLeader: true) }
        leader.cancel()
        await #expect(throws: CancellationError.self) { _ = try await leader.value }
        inFlight.publish(.unshared(response, responseTime: Timestamp(seconds: 0)))
        guard case .released = try await inFlight.waitForHead(isLeader: false) else {
            Issue.record("A follower was given the leader's response.")
            return
        }
    }

    @Test func cancelledFillCannotBeJoined() async throws {
        let inFlight = InFlightFetch(fencingNumber: fencingNumber)
        #expect(inFlight.join())
        let only = Task { try await inFlight.waitForHead(isLeader: true) }
        only.cancel()
        await #expect(throws: CancellationError.self) { _ = try await only.value }
        #expect(!inFlight.join())
    }

    @Test func bodyContinuesWhileCallerIsAboutToJoin() async throws {
        let inFlight = InFlightFetch(fencingNumber: fencingNumber)
        #expect(inFlight.join())
        let body = InFlightBody(length: nil, writer: nil) { inFlight.cancel() }
        inFlight.publish(.shared(head, HTTPResponse(status: .ok), body))
        #expect(await body.append(ByteBuffer(string: "first")))
        guard case .shared(_, _, let reader, _) = try await inFlight.waitForHead(isLeader: true) else {
            Issue.record("The caller was given something else.")
            return
        }
        body.finish()
        #expect(String(buffer: try await reader.stream.collect(upTo: 10)) == "first")
    }

    @Test func idleReaderHoldsUpNoOther() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let idle = try #require(body.makeReader())
        let busy = try #require(body.makeReader())
        let producer = Task {
            for _ in 0..<16 { _ = await body.append(ByteBuffer(repeating: 1, count: 512 << 10)) }
            body.finish()
        }
        #expect(try await busy.stream.collect(upTo: 1 << 30).readableBytes == 8 << 20)
        await producer.value
        await #expect(throws: BodyStreamError.fellBehind) { try await idle.stream.collect(upTo: 1 << 30) }
    }

    @Test func cancellingTheProducerEndsItsWait() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let held = try #require(body.makeReader())
        let producer = Task {
            var isWanted = true
            while isWanted { isWanted = await body.append(ByteBuffer(repeating: 1, count: 512 << 10)) }
        }
        producer.cancel()
        await producer.value
        withExtendedLifetime(held) {}
    }

    @Test func manySmallChunksStayCheap() async throws {
        let body = InFlightBody(length: nil, writer: nil, onAbandoned: {})
        let reader = try #require(body.makeReader())
        for _ in 0..<20_000 { #expect(await body.append(ByteBuffer(repeating: 7, count: 32))) }
        body.finish()
        var chunks = 0
        for try await _ in reader.stream { chunks += 1 }
        // 640,000 bytes in pieces of up to 16 KiB, not in 20,000.
        #expect(chunks <= 45)
    }
}
