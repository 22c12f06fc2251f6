import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

/// Compares explanations with what the engine then does.
@Suite(.timeLimit(.minutes(20)))
struct ExplanationPropertyTests {
    /// A failure names its seed. Put it here alone to reproduce the failure.
    static let seeds: Range<UInt64> = 0..<600

    @Test(arguments: SituationTransport.Situation.allCases)
    func explanationMatchesExchange(in situation: SituationTransport.Situation) async throws {
        var responses: [Explanation.Verdict.Answer: Int] = [:]
        for seed in Self.seeds {
            let generated = ExplainedCase(seed: seed)
            let transport = SituationTransport(situation)
            let (engine, store, _) = try await generated.engine(on: transport, mode: generated.mode)
            let before = Set(store.all)
            let explanation = try await engine.explain(generated.request)
            try #require(transport.requests.isEmpty && Set(store.all) == before, "seed \(seed): it has effects")
            if situation == .offline { engine.mode = .offline }
            let verdict =
                switch situation {
                case .reachable: explanation.now
                case .unreachable: explanation.unreachable
                case .failing: explanation.failing
                case .offline: explanation.offline
                }
            let done = await Done(engine, generated.request, transport)
            responses[verdict.answer, default: 0] += 1
            let differences = done.differences(from: verdict, of: generated.request)
            #expect(differences.isEmpty, "seed \(seed): \(differences)\n\(verdict)\n\(done)\n\(generated)")
            await engine.shutDown()
        }
        // A generator that never produces a result would prove nothing about it.
        let expected: Set<Explanation.Verdict.Answer> =
            switch situation {
            case .reachable: [.stored, .validated, .completed, .forwarded, .refused]
            case .failing: [.stored, .forwarded, .refused]
            case .unreachable, .offline: [.stored, .refused]
            }
        #expect(expected.isSubset(of: responses.filter { $0.value >= 5 }.keys), "\(responses)")
    }

    @Test func nothingChangesBetweenTwoChanges() async throws {
        var count = 0
        for seed in Self.seeds.prefix(120) {
            let generated = ExplainedCase(seed: seed)
            var random = SeededRandom(seed: seed ^ 0xFFFF)
            let (engine, _, _) = try await generated.engine(on: SituationTransport(.reachable), mode: generated.mode)
            let first = try await engine.explain(generated.request)
            count += first.changes.count
            for _ in 0..<6 {
                let instant = generated.now.adding(milliseconds: Int64.random(in: 0...300_000, using: &random))
                let then = try await engine.explain(generated.request, at: instant)
                let passed = first.changes.prefix { $0.at <= instant }
                for (name, said, found) in [
                    ("now", passed.compactMap(\.now).last ?? first.now, then.now),
                    ("unreachable", passed.compactMap(\.unreachable).last ?? first.unreachable, then.unreachable),
                    ("failing", passed.compactMap(\.failing).last ?? first.failing, then.failing),
                    ("offline", passed.compactMap(\.offline).last ?? first.offline, then.offline),
                ] {
                    let isSame =
                        said.answer == found.answer && said.reason == found.reason && said.stored == found.stored
                        && said.isRefreshed == found.isRefreshed && said.forbiddenBy == found.forbiddenBy
                        && said.detail == found.detail && said.status == found.status
                    #expect(
                        isSame,
                        "seed \(seed), \(name), \(instant.milliseconds(since: generated.now)) ms later: said \(said), found \(found)\n\(generated)"
                    )
                }
            }
            await engine.shutDown()
        }
        #expect(count > 20, "\(count) changes")
    }
}

/// The requests and the response of an engine for one request.
private struct Done: CustomStringConvertible {
    var result: Result<CacheResponse, ExchangeError>?
    var requests: [HTTPRequest] = []

    init(_ engine: CacheEngine, _ request: CacheRequest, _ transport: SituationTransport) async {
        do {
            let response = try await engine.respond(to: request)
            _ = try? await response.body.collect(upTo: 1 << 20)
            result = .success(response)
        } catch {
            result = (error as? ExchangeError).map { .failure($0) }
        }
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        requests = transport.requests
    }

    var description: String {
        switch result {
        case .success(let response):
            "\(response.source) \(response.head.status) \(response.outcome.cacheStatus()) stored=\(response.stored?.id ?? 0) validated=\(response.isValidated) requests=\(requests.count)"
        case .failure(let error):
            "\(error.code) \(error.status) \(error.outcome.cacheStatus()) requests=\(requests.count)"
        case nil: "another error"
        }
    }

    func differences(from verdict: Explanation.Verdict, of request: CacheRequest) -> [String] {
        var found: [String] = []
        func same<Value: Equatable>(_ name: String, _ said: Value, _ done: Value) {
            if said != done { found.append("\(name): said \(said), done \(done)") }
        }
        let outcome: CacheOutcome
        switch result {
        case .success(let response):
            outcome = response.outcome
            same("refused", verdict.answer == .refused, false)
            if let status = verdict.status { same("status", status, response.head.status.code) }
            same("from the store", verdict.answer == .stored, response.source == .store)
            if verdict.answer == .stored {
                same("stored", verdict.stored, response.stored?.id)
                same("ttl", verdict.timeToLive, outcome.timeToLive)
                // A stored response that replaces a failed request was requested, and is not
                // renewed.
                let wasAsked = verdict.reason == .unreachable || verdict.reason == .staleIfError
                same("requests", wasAsked || verdict.isRefreshed ? 1 : 0, requests.count)
            } else {
                same("sent", true, !requests.isEmpty)
                // A failing origin's response may have been requested with validators or without.
                if verdict.reason != .originFails {
                    same("conditions", true, hasConditions(of: verdict, beside: request))
                }
            }
        case .failure(let error):
            outcome = error.outcome
            same("refused", verdict.answer == .refused, true)
            same("status", verdict.status, error.status)
        case nil: return ["neither a response nor an error of the cache's"]
        }
        same("hit", verdict.isHit, outcome.isHit)
        same("fwd", verdict.forward, outcome.forward?.rawValue)
        same("detail", verdict.detail, outcome.detail?.description)
        return found
    }

    /// Whether the first request has a condition if something is validated, and otherwise only the
    /// caller's own.
    private func hasConditions(of verdict: Explanation.Verdict, beside request: CacheRequest) -> Bool {
        guard let sent = requests.first?.headerFields else { return false }
        guard verdict.answer != .validated else {
            return sent.contains(.ifNoneMatch) || sent.contains(.ifModifiedSince)
        }
        // The rest is requested by its range, without the caller's conditions.
        if verdict.answer == .completed { return sent.contains(.range) && sent.contains(.ifRange) }
        return sent[.ifNoneMatch] == request.head.headerFields[.ifNoneMatch]
            && sent[.ifModifiedSince] == request.head.headerFields[.ifModifiedSince]
    }
}
