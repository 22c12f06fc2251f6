import Foundation
import HTTPCache
import HoldfastMetrics
import NIOCore
import Synchronization

/// The streams of events that pages read: each gets the overview every second.
///
/// Their number is limited, clients share the permits (``ClientShare``), each ends by itself, and
/// all share what is made for one of them. So pages cost nothing while no client looks, and little
/// otherwise.
final class EventStreams: Sendable {
    /// A permit for one stream, which is free again when this is released.
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
        /// The event that was made last.
        var line: (text: String, at: ContinuousClock.Instant)?
    }

    /// The most streams at a time.
    static let limit = 16
    /// How long one lasts. Then the page connects again.
    static let life = Duration.seconds(900)
    fileprivate static let period = Duration.seconds(1)
    /// How old an event may be that several streams get.
    private static let sharingTime = Duration.milliseconds(900)

    private let state = Mutex(State())

    /// Takes a permit.
    ///
    /// - Parameter client: the name of the token, or of the user, whose page it is.
    /// - Throws: ``Full`` if there is none for that client.
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

    /// There are as many streams as there may be, or the client has its share of them.
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

    /// Why a stream ends.
    fileprivate enum End: String {
        case lifetime, ending, session
    }

    /// Whether a stream may continue.
    enum Admission {
        case goOn
        case ending
        case sessionOver
    }

    /// A stream in a permit that was taken.
    ///
    /// - Parameters:
    ///   - admission: asked before each event.
    ///   - overview: makes the content of an event.
    func events(
        in permit: Permit,
        while admission: @escaping @Sendable () -> Admission,
        of overview: @escaping @Sendable () async throws -> Data
    ) -> Events {
        Events(streams: self, permit: permit, admission: admission, overview: overview)
    }

    /// The events of one stream: the last one says why it ends. The permit is free when this is
    /// released, however the stream ended.
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

    /// The event of this moment. JSON from an encoder has no line end.
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
