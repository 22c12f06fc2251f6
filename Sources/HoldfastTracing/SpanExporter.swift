import AsyncHTTPClient
import CoreMetrics
import HTTPCacheSemantics
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import Tracing

/// Sends spans to a collector, in batches: OTLP over HTTP, in protobuf.
///
/// A span is added from any thread and without waiting. Its queue is bounded: while the collector
/// is away or slow, further spans are dropped and counted. One task sends, on threads of its own.
final class SpanExporter: Sendable {
    private struct State {
        var queue: [FinishedSpan] = []
        var dropped = 0
        var isClosed = false
        var task: Task<Void, Never>?
        var ticker: Task<Void, Never>?
        /// Whether the last batch could not be sent.
        var isFailing = false
        /// When the collector wants to be asked again, if it has said so.
        var notBefore: ContinuousClock.Instant?
    }

    /// Why a batch was not taken.
    private struct Failure: Error {
        var reason: String
        /// Whether the same batch may be taken later, and when, if the collector says so.
        var mayRetry = false
        var after: Duration?
    }

    /// The most times that a batch is sent.
    static let tryLimit = 5
    /// The longest time for which a collector is left alone because it asks for that.
    private static let longestRest = Duration.seconds(300)
    /// The longest wait before a batch is sent again, unless the collector asks for more.
    private static let longestWait = Duration.seconds(30)
    /// The time for what waits at the end, and then for closing connections.
    static let endLimit = Duration.seconds(5)
    private static let closingLimit = Duration.seconds(1)
    /// The most bytes of a response's content that are read, and the time for it.
    private static let contentLimit = 64 << 10
    private static let contentTime = Duration.seconds(1)

    private let configuration: TracingConfiguration
    private let encoder: OTLPEncoder
    private let client: HTTPClient
    private let counter: any CounterHandler
    private let logger: Logger
    private let bell: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    init(_ configuration: TracingConfiguration, version: String, metrics: any MetricsFactory, logger: Logger) {
        self.configuration = configuration
        self.logger = logger
        encoder = OTLPEncoder(resource: configuration.resource(version: version), scope: "holdfast", version: version)
        counter = metrics.makeCounter(label: "holdfast_spans_dropped_total", dimensions: [])
        counter.increment(by: 0)
        var settings = HTTPClient.Configuration()
        settings.redirectConfiguration = .disallow
        settings.timeout.connect = .nanoseconds(Int64(configuration.timeout / .nanoseconds(1)))
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        // One ring is enough: the task that hears it sends all that waits.
        let (rings, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.bell = bell
        let interval = configuration.interval
        state.withLock { state in
            state.task = Task {
                for await _ in rings { await self.sendAll() }
                await self.sendAll()
            }
            state.ticker = Task {
                while !Task.isCancelled {
                    try? await Task.sleep(for: interval)
                    bell.yield()
                }
            }
        }
    }

    var droppedCount: Int { state.withLock { $0.dropped } }

    func add(_ span: FinishedSpan) {
        let count = state.withLock { state -> Int? in
            guard !state.isClosed, state.queue.count < configuration.queueLimit else {
                state.dropped += 1
                return nil
            }
            state.queue.append(span)
            return state.queue.count
        }
        guard let count else { return counter.increment(by: 1) }
        if count == configuration.batchLimit { bell.yield() }
    }

    func flush() { bell.yield() }

    /// Sends what waits, within a time, and ends.
    func shutDown() async {
        let (task, ticker, notBefore) = state.withLock { state in
            state.isClosed = true
            return (state.task.take(), state.ticker.take(), state.notBefore)
        }
        guard let task else { return }
        ticker?.cancel()
        bell.finish()
        // A collector that wants to be left alone for longer gets no more.
        if let notBefore, notBefore > .now + Self.endLimit { task.cancel() }
        let limit = Task {
            try? await Task.sleep(for: Self.endLimit)
            if !Task.isCancelled { task.cancel() }
        }
        await task.value
        limit.cancel()
        drop(state.withLock { exchange(&$0.queue, with: []) }.count)
        await closeConnections()
    }

    /// Closes the client, unless that takes too long: it waits for connections that are being made,
    /// and a name server may be slow. Then the rest is done behind the end.
    private func closeConnections() async {
        let (events, event) = AsyncStream.makeStream(of: Void.self)
        let limit = Task {
            try? await Task.sleep(for: Self.closingLimit)
            event.finish()
        }
        Task { [client] in
            try? await client.shutdown()
            event.finish()
        }
        for await _ in events {}
        limit.cancel()
    }

    private func drop(_ count: Int) {
        guard count > 0 else { return }
        state.withLock { $0.dropped += count }
        counter.increment(by: Int64(count))
    }

    // MARK: Sending

    /// Sends batches until nothing waits.
    private func sendAll() async {
        while true {
            await waitForCollector()
            guard !Task.isCancelled else { return }
            let batch = state.withLock { state in
                let batch = Array(state.queue.prefix(configuration.batchLimit))
                state.queue.removeFirst(batch.count)
                return batch
            }
            guard !batch.isEmpty else { return }
            do throws(Failure) {
                try await send(encoder.encode(batch))
                note(failure: nil)
            } catch {
                drop(batch.count)
                note(failure: error.reason)
            }
        }
    }

    /// Waits for as long as the collector has asked for. Meanwhile spans wait in the queue.
    private func waitForCollector() async {
        guard let notBefore = state.withLock({ $0.notBefore }), notBefore > .now else { return }
        try? await Task.sleep(until: notBefore)
    }

    /// Sends a batch, several times if that may help.
    private func send(_ content: ByteBuffer) async throws(Failure) {
        let end = ContinuousClock.now + configuration.batchTimeout
        var wait = Duration.seconds(1)
        var tries = 0
        while true {
            tries += 1
            do throws(Failure) {
                return try await sendOnce(content, by: end)
            } catch {
                // A part of it is random, so that many processes do not come back at once.
                let pause = error.after ?? min(wait * Double.random(in: 0.5...1), Self.longestWait)
                guard error.mayRetry, tries < Self.tryLimit, ContinuousClock.now + pause < end, !Task.isCancelled
                else { throw error }
                wait *= 2
                try? await Task.sleep(for: pause)
            }
        }
    }

    private func sendOnce(_ content: ByteBuffer, by end: ContinuousClock.Instant) async throws(Failure) {
        var request = HTTPClientRequest(url: configuration.endpoint)
        request.method = .POST
        for (name, value) in configuration.fields { request.headers.replaceOrAdd(name: name, value: value) }
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/x-protobuf")
        request.body = .bytes(content)
        let time = max(min(configuration.timeout, ContinuousClock.now.duration(to: end)), .milliseconds(1))
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: .nanoseconds(Int64(time / .nanoseconds(1))))
        } catch {
            // Its text may have the address and with it a secret; its type says enough.
            throw Failure(reason: (error as? HTTPClientError)?.shortDescription ?? "no connection", mayRetry: true)
        }
        await dropContent(of: response)
        switch response.status.code {
        case 200...299: return
        case 429, 502, 503, 504:
            let now = Timestamp(milliseconds: Int64(DefaultTracerClock.now.nanosecondsSinceEpoch / 1_000_000))
            let after = response.headers.first(name: "Retry-After").flatMap { RetryAfter.wait($0, at: now) }
                .map { min($0, Self.longestRest) }
            state.withLock { state in state.notBefore = after.map { .now + $0 } }
            throw Failure(reason: "status \(response.status.code)", mayRetry: true, after: after)
        default: throw Failure(reason: "status \(response.status.code)")
        }
    }

    /// Reads a response to its end, so that its connection can be used again.
    ///
    /// The status has said all. So content that is long or slow is cut off with its connection: the
    /// client's time for a request ends with the head.
    private func dropContent(of response: HTTPClientResponse) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { _ = try? await response.body.collect(upTo: Self.contentLimit) }
            tasks.addTask { try? await Task.sleep(for: Self.contentTime) }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    /// Logs when sending begins to fail, and when it works again.
    private func note(failure: String?) {
        let isNew = state.withLock { state in
            defer { state.isFailing = failure != nil }
            return state.isFailing != (failure != nil)
        }
        guard isNew else { return }
        let endpoint = Logger.MetadataValue.string(configuration.endpoint)
        if let failure {
            logger.warning(
                "Spans could not be sent and were dropped; check the collector and 'holdfast_spans_dropped_total'",
                metadata: ["traces.endpoint": endpoint, "traces.error": "\(failure)"]
            )
        } else {
            logger.notice("The collector accepts spans again", metadata: ["traces.endpoint": endpoint])
        }
    }
}
