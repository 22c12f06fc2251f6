import Foundation
import HTTPCache
import HoldfastTesting
import TestSupport
import Testing

@testable import Holdfast

/// Calls that are under way while their client is closed.
@Suite(.timeLimit(.minutes(20))) struct ClosingTests {
    enum Form: CaseIterable {
        case fetch, networkOnly, mutation, withoutStore, startWith, limited, reuse, chain, download, batch, objects
        case callbacks, onCache, results
    }

    /// The event that a call waits for.
    enum Wait: CaseIterable {
        case network, body, permit, turn, plugin, retry
    }

    private static let url = "\(ScriptedClient.url)/x"

    /// Waits for its gate before it lets a request pass.
    private struct Waiting: PreparingPlugin {
        let gate: HoldfastTesting.Gate
        let arrivals = Events()
        func prepare(_ request: inout CacheRequest, for call: CallInfo) async throws {
            arrivals.append("\(call.purpose)")
            try await gate.wait()
        }
        var isReady: Bool { false }
    }

    private static func configuration(_ wait: Wait, _ plugin: Waiting) -> CachingClient.Configuration {
        var options = EngineOptions()
        // Only the waits of the test are on its clock.
        options.hardTimeout = nil
        if wait == .permit || wait == .turn { options.inFlightLimit = 1 }
        if wait == .turn { options.waitingLimit = 0 }
        return CachingClient.Configuration(
            retry: wait == .retry || wait == .turn ? RetryPlan() : .never,
            plugins: wait == .plugin ? [plugin] : [],
            options: options
        )
    }

    private static func script(_ wait: Wait, on transport: ScriptedTransport) {
        switch wait {
        case .body:
            let fields: HTTPFields = [.cacheControl: "no-store", .contentLength: "5"]
            transport.script(url, repeating: .ok("half", fields: fields, beforeEnd: Gate()))
        case .retry: transport.script(url, repeating: .failure(.connect))
        case .network, .permit, .turn, .plugin: transport.script(url, repeating: .ok("", beforeHead: Gate()))
        }
        transport.script("\(ScriptedClient.url)/held", .ok("", beforeHead: Gate()))
    }

    /// Returns how the calls of a form end.
    private static func end(of form: Form, on client: CachingClient, file: String) async -> Set<String> {
        var endpoint = PathEndpoint(baseURL: ScriptedClient.url, path: "/x")
        let events = Events()
        let note: @Sendable (HoldfastError) -> Void = { events.append("\($0.code)") }
        do {
            switch form {
            case .fetch: _ = try await client.fetch(endpoint)
            case .networkOnly: _ = try await client.fetch(endpoint, .networkOnly)
            case .mutation:
                endpoint.method = .post
                _ = try await client.fetch(endpoint)
            case .withoutStore: for try await _ in endpoint.on(client).request() {}
            case .startWith: for try await _ in client.startWith(endpoint) {}
            case .limited: _ = try await client.call(endpoint).with { $0.timeout = .seconds(60) }.fetch()
            case .reuse: _ = try await client.call(endpoint).with { $0.reuseWithin = .seconds(60) }.fetch()
            case .chain: _ = try await endpoint.call.then { [endpoint] _ in endpoint.call }.on(client).fetch()
            case .download: _ = try await client.download(endpoint, to: DownloadDestination(file))
            case .batch:
                let results = try await client.fetch(all: [endpoint, endpoint])
                return Set(
                    results.map { result in
                        if case .failure(let error) = result { "\(error.code)" } else { "value" }
                    }
                )
            case .objects:
                let batch = ObjectBatch<String, String>(key: { $0 }, expiry: .never) { [endpoint] _ in
                    endpoint
                } values: { value in
                    ["1": value]
                }
                _ = try await client.fetch(["1"], of: batch)
            case .callbacks:
                await client.startWith(endpoint).subscribe(onNext: { _ in }, onError: note).finished()
                return Set(events.all)
            case .onCache:
                await client.onCache(endpoint) { _ in }.request(onNext: { _ in }, onError: note).finished()
                return Set(events.all)
            case .results:
                await client.call(endpoint).results { if case .failure(let error) = $0 { note(error) } }.finished()
                return Set(events.all)
            }
            return ["completed"]
        } catch {
            return [(error as? HoldfastError).map { "\($0.code)" } ?? "\(type(of: error))"]
        }
    }

    @Test(arguments: Form.allCases, Wait.allCases)
    func callsEndAsClosed(form: Form, wait: Wait) async throws {
        // A mutation is sent once.
        if form == .mutation, wait == .retry { return }
        let plugin = Waiting(gate: Gate())
        try await ScriptedClient.run(Self.configuration(wait, plugin)) { fixture in
            let client = fixture.client
            Self.script(wait, on: fixture.transport)
            let folder = try TemporaryFolder()
            let file = folder.path + "/file"
            var held: Task<Void, Never>?
            if wait == .permit || wait == .turn {
                held = Task { _ = try? await client.fetch(PathEndpoint(baseURL: ScriptedClient.url, path: "/held")) }
                await fixture.transport.waitForRequests(1)
            }
            let call = Task { (await Self.end(of: form, on: client, file: file), Task.isCancelled) }
            switch wait {
            case .network, .body: await fixture.transport.waitForRequests(1)
            case .permit: for _ in 0..<1_000 { await Task.yield() }
            case .turn, .retry: await fixture.sleeper.sleepers(atLeast: 1)
            case .plugin: while plugin.arrivals.all.isEmpty, !Task.isCancelled { await Task.yield() }
            }
            try await client.close()
            let (ends, isCancelled) = await call.value
            #expect(ends == ["closed"])
            // Closing a client ends its calls, and not the tasks that made them.
            #expect(!isCancelled)
            if let held { await held.value }
        }
    }

    @Test(arguments: Wait.allCases) func cancelledCallerGetsItsOwnCancellation(wait: Wait) async throws {
        let plugin = Waiting(gate: Gate())
        try await ScriptedClient.run(Self.configuration(wait, plugin)) { fixture in
            let client = fixture.client
            Self.script(wait, on: fixture.transport)
            let call = Task { await Self.end(of: .fetch, on: client, file: "") }
            if wait == .plugin {
                while plugin.arrivals.all.isEmpty, !Task.isCancelled { await Task.yield() }
            } else {
                await fixture.transport.waitForRequests(1)
            }
            call.cancel()
            #expect(await call.value == ["cancelled"])
        }
    }

    @Test func callsOfAClosedClientAreClosed() async throws {
        try await ScriptedClient.run { fixture in
            try await fixture.client.close()
            for form in Form.allCases {
                let file = fixture.store.folder + "/download"
                #expect(await Self.end(of: form, on: fixture.client, file: file) == ["closed"], "\(form)")
            }
        }
    }
}
