import Foundation
import HTTPCache
import HoldfastMetrics
import NIOCore
import Synchronization

/// The event streams that status pages read. Each stream sends the overview every second.
///
/// The number of streams is limited, and clients share the permits (``ClientShare``). Each stream
/// ends after ``life``. All streams share the same events, so open pages cost little.
final class EventStreams: Sendable {
    /// A permit for one stream. The permit is returned when this object is deallocated.
    final class Permit: Sendable {
        private let streams: EventStreams
        private let client: String

        fileprivate init(_ streams: EventStreams, _ client: String) {
            self.streams = streams
            self.client = client
        }

        deinit { streams.release(client) }
    }

    private struct State {
        var permits = ClientPermits<String>()
        var total: Int64 = 0
        /// The last event, as text, and its time.
        var line: (text: String, at: ContinuousClock.Instant)?
    }

    /// The maximum number of concurrent streams.
    static let limit = 16
    /// The maximum duration of a stream. The page reconnects when a stream ends.
    static let life = Duration.seconds(900)
    fileprivate static let period = Duration.seconds(1)
    /// The maximum age of an event that streams share.
    private static let sharingTime = Duration.milliseconds(900)

    private let state = Mutex(State())

    /// Takes a permit.
    ///
    /// - Parameter client: the name of the page's token or user.
    /// - Throws: ``Full`` if all permits are taken, or if the client has used its share.
    func take(for client: String) throws -> Permit {
        let isFree = state.withLock { state in
            guard state.permits.take(client, of: Self.limit) else { return false }
            state.total += 1
            return true
        }
        guard isFree else { throw Full() }
        return Permit(self, client)
    }

    private func release(_ client: String) { state.withLock { $0.permits.leave(client) } }

    /// Thrown if all permits are taken, or if the client has used its share.
    struct Full: Error {
        let seconds = 5

        var problem: ControlProblem {
            ControlProblem(
                .tooManyStreams,
                "The limit is \(EventStreams.limit) event streams; the last quarter is reserved for clients that have less than a quarter of them. Close a page, or poll '/v1/overview'.",
                limit: EventStreams.limit
            )
        }
    }

    /// The reason why a stream ends.
    fileprivate enum End: String {
        case lifetime, ending, session
    }

    /// Whether a stream may continue.
    enum Admission {
        case goOn
        case ending
        case sessionOver
    }

    /// Returns the events of a stream that uses a permit.
    ///
    /// - Parameters:
    ///   - admission: returns whether the stream may continue. It is called before each event.
    ///   - overview: returns the content of an event.
    func events(
        in permit: Permit,
        while admission: @escaping @Sendable () -> Admission,
        of overview: @escaping @Sendable () async throws -> Data
    ) -> Events {
        Events(streams: self, permit: permit, admission: admission, overview: overview)
    }

    /// The events of one stream. The last event contains the reason why the stream ends. The permit
    /// is returned when this value is released.
    struct Events: AsyncSequence, Sendable {
        fileprivate let streams: EventStreams
        fileprivate let permit: Permit
        fileprivate let admission: @Sendable () -> Admission
        fileprivate let overview: @Sendable () async throws -> Data

        struct Iterator: AsyncIteratorProtocol {
            fileprivate let events: Events
            fileprivate let end = ContinuousClock.now + EventStreams.life
            private var isFirst = true
            private var isOver = false

            fileprivate init(_ events: Events) { self.events = events }

            mutating func next() async throws -> ByteBuffer? {
                if isOver { return nil }
                if !isFirst { try await Task.sleep(for: EventStreams.period) }
                isFirst = false
                if let end = reasonToEnd {
                    isOver = true
                    return ByteBuffer(string: EventStreams.last(end))
                }
                return ByteBuffer(string: try await events.streams.line(events.overview, at: .now))
            }

            private var reasonToEnd: End? {
                switch events.admission() {
                case .goOn: ContinuousClock.now < end ? nil : .lifetime
                case .ending: .ending
                case .sessionOver: .session
                }
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(self) }
    }

    fileprivate static func last(_ end: End) -> String { "event: end\ndata: {\"reason\":\"\(end.rawValue)\"}\n\n" }

    /// Returns the current event as text. The encoder's JSON contains no line break.
    fileprivate func line(_ overview: () async throws -> Data, at now: ContinuousClock.Instant) async throws -> String {
        if let known = state.withLock({ $0.line }), now - known.at < Self.sharingTime { return known.text }
        let text = "event: overview\ndata: \(String(decoding: try await overview(), as: UTF8.self))\n\n"
        state.withLock { $0.line = (text, now) }
        return text
    }
}

extension EventStreams: MetricsCollector {
    func families() async -> [MetricFamily] {
        let (open, total) = state.withLock { ($0.permits.count, $0.total) }
        return [
            MetricFamily(
                MetricDescription("holdfast_event_streams", .gauge, "Event streams that status pages are reading."),
                [MetricSeries(.integer(Int64(open)))]
            ),
            MetricFamily(
                MetricDescription("holdfast_event_streams_total", .counter, "Event streams opened."),
                [MetricSeries(.integer(total))]
            ),
        ]
    }
}
