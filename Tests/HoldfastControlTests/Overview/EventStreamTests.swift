import Foundation
import NIOCore
import Synchronization
import Testing

@testable import HoldfastControl

/// The streams of events of the page.
@Suite(.timeLimit(.minutes(20))) struct EventStreamTests {
    private func text(_ buffer: ByteBuffer?) -> String? { buffer.map { String(buffer: $0) } }

    @Test func streamsAreBoundedAndPlacesComeBack() throws {
        let streams = EventStreams()
        var permits = try (0..<EventStreams.limit).map { try streams.take(for: "\($0)") }
        let full = #expect(throws: EventStreams.Full.self) { try streams.take(for: "x") }
        #expect(full?.problem.status == 503)
        permits.removeLast()
        permits.append(try streams.take(for: "x"))
        #expect(throws: EventStreams.Full.self) { try streams.take(for: "y") }
        #expect(permits.count == EventStreams.limit)
    }

    /// One client with many tabs leaves a quarter of the streams to others.
    @Test func oneClientLeavesStreamsToOthers() throws {
        let streams = EventStreams()
        var permits: [EventStreams.Permit] = []
        while let permit = try? streams.take(for: "tabs") { permits.append(permit) }
        #expect(permits.count == EventStreams.limit * 3 / 4)
        for number in 0..<4 { permits.append(try streams.take(for: "\(number)")) }
        #expect(permits.count == EventStreams.limit)
    }

    @Test(arguments: [(EventStreams.Admission.ending, "ending"), (.sessionOver, "session")])
    func streamSaysWhyItEnds(_ admission: EventStreams.Admission, _ word: String) async throws {
        let streams = EventStreams()
        let now = Mutex(EventStreams.Admission.goOn)
        let events = streams.events(
            in: try streams.take(for: "a"),
            while: { now.withLock { $0 } },
            of: { Data("{}".utf8) }
        )
        var iterator = events.makeAsyncIterator()
        #expect(text(try await iterator.next()) == "event: overview\ndata: {}\n\n")
        now.withLock { $0 = admission }
        #expect(text(try await iterator.next()) == "event: end\ndata: {\"reason\":\"\(word)\"}\n\n")
        #expect(try await iterator.next() == nil)
    }

    @Test func streamsShareAnEvent() async throws {
        let streams = EventStreams()
        let made = Mutex(0)
        for _ in 0..<5 {
            let events = streams.events(
                in: try streams.take(for: "a"),
                while: { .goOn },
                of: { Data("\(made.withLock { $0 += 1; return $0 })".utf8) }
            )
            var iterator = events.makeAsyncIterator()
            #expect(text(try await iterator.next())?.hasPrefix("event: overview\n") == true)
        }
        // A slow machine may need more than one.
        #expect(made.withLock { $0 } < 5)
    }
}
