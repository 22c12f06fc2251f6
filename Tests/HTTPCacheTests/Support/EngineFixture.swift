import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import TestSupport
import Testing

/// An engine with a scripted origin, a store in memory and a clock that stands still.
struct EngineFixture {
    let transport = ScriptedTransport()
    let memory: InMemoryResponseStore
    let store: FaultyResponseStore
    let clock = ManualClock()
    let sleeper = ManualDurationClock()
    let engine: CacheEngine
    static let url = "https://a.example/feed"

    /// - Parameters:
    ///   - memory: the store, which several engines may use.
    ///   - job: the job that the engine records or replays.
    ///   - targetOrigins: the origins of targets that do not name their origin.
    ///   - exchanges: keeps the exchanges of the job.
    ///   - options: without timeouts unless set here, so that nothing sleeps besides the test's
    ///     subject.
    init(
        kind: CacheKind = .private,
        mode: OfflineMode = .automatic,
        rules: (any ExchangeRules)? = nil,
        memory: InMemoryResponseStore = InMemoryResponseStore(),
        targetOrigins: (any TargetOrigins)? = nil,
        job: JobRun? = nil,
        exchanges: JobExchanges? = nil,
        options change: (inout EngineOptions) -> Void = { _ in }
    ) {
        var options = EngineOptions()
        options.hardTimeout = nil
        change(&options)
        self.memory = memory
        store = FaultyResponseStore(memory)
        var parts = CacheEngine.Parts(clock: clock, sleeper: sleeper, jitter: { 1 })
        parts.targetOrigins = targetOrigins
        parts.job = job
        if let exchanges { parts.observeJob = { exchanges.take($0) } }
        engine = CacheEngine(
            // Jobs are judged without waiting for a task, which the store with faults cannot do.
            store: job == nil ? store : memory,
            transport: transport,
            policy: CachePolicy(kind: kind),
            credentialSecret: [UInt8](repeating: 7, count: 32),
            mode: mode,
            options: options,
            rules: rules,
            parts: parts,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// The response to a request, and its text.
    @discardableResult
    func get(
        _ url: String = url,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .get,
        preference: CacheRequest.Preference = .standard,
        principal: String? = nil
    ) async throws -> (text: String, response: CacheResponse) {
        let response = try await engine.respond(
            to: try request(url, fields, method: method, preference: preference, principal: principal)
        )
        let body = try await response.body.collect(upTo: 1 << 30)
        return (String(buffer: body), response)
    }

    func request(
        _ url: String = url,
        _ fields: HTTPFields = [:],
        method: HTTPRequest.Method = .get,
        preference: CacheRequest.Preference = .standard,
        principal: String? = nil
    ) throws -> CacheRequest {
        CacheRequest(
            head: try HTTPRequest(method, url: url, fields: fields),
            principal: principal,
            preference: preference
        )
    }

    /// Waits until the stored response for a target has this body.
    func untilStored(_ text: String, _ url: String = url) async throws {
        let key = try #require(engine.key(for: request(url)))
        while true {
            for response in try await memory.lookup(key) {
                guard let body = try await memory.openBody(of: response) else { continue }
                if String(buffer: try await body.collect(upTo: 1 << 30)) == text { return await untilIdle() }
            }
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    /// Waits until no fetch is under way, or the test's time is up.
    func untilIdle() async {
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
    }

    /// The code of the error with which a request ends.
    func failure(
        _ url: String = url,
        _ fields: HTTPFields = [:],
        preference: CacheRequest.Preference = .standard
    ) async -> ExchangeError.Code? {
        do {
            try await get(url, fields, preference: preference)
            return nil
        } catch {
            return (error as? ExchangeError)?.code
        }
    }
}

extension ScriptedTransport.Reply {
    static func fresh(
        _ body: String,
        _ seconds: Int = 60,
        etag: String? = nil,
        beforeHead: Gate? = nil,
        beforeEnd: Gate? = nil
    ) -> Self {
        var fields: HTTPFields = [.cacheControl: "max-age=\(seconds)"]
        if let etag { fields[.eTag] = etag }
        return .ok(body, fields: fields, beforeHead: beforeHead, beforeEnd: beforeEnd)
    }
}
