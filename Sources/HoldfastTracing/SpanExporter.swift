import AsyncHTTPClient
import CoreMetrics
import HTTPCacheSemantics
import Logging
import NIOCore
import NIOHTTP1
import Synchronization
import Tracing

/// Exports spans to a collector in batches, through OTLP over HTTP, encoded as protobuf.
///
/// Any thread can add a span without waiting. The queue is limited: if the collector is down or
/// slow, additional spans are dropped and counted. A single task sends batches, on its own threads.
final class SpanExporter: Sendable {
    private struct State {
        var queue: [FinishedSpan] = []
        var dropped = 0
        var isClosed = false
        var task: Task<Void, Never>?
        var ticker: Task<Void, Never>?
        /// Whether the last batch failed.
        var isFailing = false
        /// The time from which the collector accepts requests again, if it sent one.
        var notBefore: ContinuousClock.Instant?
    }

    /// The reason that a batch failed.
    private struct Failure: Error {
        var reason: String
        /// Whether the batch may be retried. ``after`` is the pause that the collector requested,
        /// if any.
        var mayRetry = false
        var after: Duration?
    }

    /// The maximum number of attempts for a batch.
    static let tryLimit = 5
    /// The maximum pause that a collector can request.
    private static let longestRest = Duration.seconds(300)
    /// The maximum wait between attempts, unless the collector requests a longer pause.
    private static let longestWait = Duration.seconds(30)
    /// The time limits at shutdown: for sending the queued spans, and then for closing connections.
    static let endLimit = Duration.seconds(5)
    private static let closingLimit = Duration.seconds(1)
    /// The maximum number of bytes to read from a response's content, and the time limit for
    /// reading them.
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
        // One buffered signal is enough, because the task that receives it sends the whole queue.
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

    /// Sends the queued spans within a time limit and ends.
    func shutDown() async {
        let (task, ticker, notBefore) = state.withLock { state in
            state.isClosed = true
            return (state.task.take(), state.ticker.take(), state.notBefore)
        }
        guard let task else { return }
        ticker?.cancel()
        bell.finish()
        // If the collector requested a longer pause, nothing more is sent.
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

    /// Closes the client, but waits only for a limited time. Closing waits for connections that are
    /// being opened, which may take long if a name server is slow. In that case, closing finishes
    /// in the background.
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

    /// Sends batches until the queue is empty.
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

    /// Waits for the pause that the collector requested. Spans stay in the queue in the meantime.
    private func waitForCollector() async {
        guard let notBefore = state.withLock({ $0.notBefore }), notBefore > .now else { return }
        try? await Task.sleep(until: notBefore)
    }

    /// Sends a batch, with retries if they may help.
    private func send(_ content: ByteBuffer) async throws(Failure) {
        let end = ContinuousClock.now + configuration.batchTimeout
        var wait = Duration.seconds(1)
        var tries = 0
        while true {
            tries += 1
            do throws(Failure) {
                return try await sendOnce(content, by: end)
            } catch {
                // Part of the wait is random, so that many processes do not retry simultaneously.
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
            // The error's text may contain the address and therefore a secret, so use only its
            // type.
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

    /// Reads a response to its end, so that its connection can be reused.
    ///
    /// Only the status matters. If the content is long or slow, the connection is closed, because
    /// the client's request timeout only covers the head.
    private func dropContent(of response: HTTPClientResponse) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { _ = try? await response.body.collect(upTo: Self.contentLimit) }
            tasks.addTask { try? await Task.sleep(for: Self.contentTime) }
            await tasks.next()
            tasks.cancelAll()
        }
    }

    /// Logs when exporting begins to fail and when it works again.
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
