import Foundation
import Holdfast
import HoldfastTesting
import Logging
import Testing

/// Two clients on one store, as an application and its widget have.
@Suite(.timeLimit(.minutes(20))) struct SharedStoreScenarioTests {
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a test with a client that only reads the fixture's store.
    private func withReader(
        _ configuration: CachingClient.Configuration = .init(),
        _ body: (ScriptedClient, CacheManager, CachingClient) async throws -> Void
    ) async throws {
        try await ScriptedClient.run { fixture async throws in
            var settings = CacheManager.Configuration()
            settings.changeInterval = .milliseconds(1)
            let store = try await CacheManager.openReadOnly(
                at: fixture.store.folder,
                configuration: settings,
                clock: fixture.clock,
                logger: Self.logger
            )
            let reader = CachingClient(
                store: store,
                transport: fixture.transport,
                configuration: configuration,
                clock: fixture.clock,
                sleeper: fixture.sleeper,
                logger: Self.logger
            )
            let ending: Result<Void, any Error>
            do { ending = .success(try await body(fixture, store, reader)) } catch { ending = .failure(error) }
            try await reader.close()
            try await store.close()
            try ending.get()
        }
    }

    @Test func widgetShowsWhatTheApplicationStored() async throws {
        try await withReader { fixture, _, reader async throws in
            let mine = AnyRequest<String>(
                baseURL: ScriptedClient.url,
                path: "/me",
                headers: [.authorization: "Bearer t1"]
            )
            fixture.script("/me", .ok("ada's", fields: [.cacheControl: "max-age=60, private"]))
            #expect(try await reader.stored(mine) == nil)
            _ = try await fixture.client.fetch(mine)
            // Credentials have the same key in both, because they share the store's secret.
            let shown = try await reader.fetch(mine)
            #expect(shown.value == "ada's" && shown.source == .store)
            reader.mode = .offline
            await expect(.offlineMiss) {
                _ = try await reader.fetch(AnyRequest<String>(baseURL: ScriptedClient.url, path: "/me"))
            }
        }
    }

    /// The widget may use the network, but stores nothing.
    @Test func widgetFetchesWithoutStoring() async throws {
        try await withReader { fixture, store, reader async throws in
            fixture.script("/x", .fresh("1"), .fresh("2"), .fresh("3"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            #expect(try await reader.fetch(fixture.get("/x"), .networkOnly).value == "2")
            #expect(try await reader.stored(fixture.get("/x"))?.value == "1")
            let stream = await reader.startWith(fixture.get("/x")).collected()
            #expect(stream.emissions.map(\.value) == ["1", "3"] && stream.failure == nil)
            await #expect(throws: StoreError.self) { try await reader.update(fixture.get("/x")) { $0 = "9" } }
            await #expect(throws: StoreError.self) { try await reader.remove(fixture.get("/x")) }
            await #expect(throws: StoreError.self) { try await store.removeObjects(withPrefix: "x") }
            #expect(try await fixture.client.stored(fixture.get("/x"))?.value == "1")
        }
    }

    /// Streams and objects of the widget follow the application's writes, and end with the widget.
    @Test func widgetFollowsTheApplication() async throws {
        try await withReader { fixture, store, reader async throws in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            reader.mode = .offline
            let (values, drafts) = (Events(), Events())
            let stream = reader.call(fixture.get("/x")).with { $0.followsStore = true }.request().subscribe(
                onNext: { values.append($0.value) },
                onError: { values.append("\($0.code)") },
                onCompleted: { values.append("completed") }
            )
            let observing = Task {
                for try await draft in store.changes(ofObject: "ada/draft", as: String.self) {
                    drafts.append(draft?.value ?? "none")
                }
                drafts.append("completed")
            }
            while values.all.isEmpty || drafts.all.isEmpty, !Task.isCancelled { await Task.yield() }
            _ = try await fixture.client.fetch(fixture.get("/x"), .networkOnly)
            try await fixture.store.setObject("Dear Bob", forKey: "ada/draft")
            while values.all.count < 2 || drafts.all.count < 2, !Task.isCancelled { await Task.yield() }
            try await fixture.store.removeObjects(withPrefix: "ada/")
            while drafts.all.count < 3, !Task.isCancelled { await Task.yield() }
            try await reader.close()
            try await store.close()
            await stream.finished()
            try await observing.value
            #expect(values.all == ["1", "2", "completed"])
            #expect(drafts.all == ["none", "Dear Bob", "none", "completed"])
        }
    }

    /// A log-out in the application is one in the widget.
    @Test func widgetForgetsALoggedOutUser() async throws {
        let (ada, bob) = (RequestDefaults(principal: "ada"), RequestDefaults(principal: "bob"))
        try await withReader(.init(defaults: ada, mode: .offline)) { fixture, _, reader async throws in
            fixture.script("/me", .fresh("ada's"), .fresh("bob's"))
            for defaults in [ada, bob] {
                let client = fixture.client(.init(defaults: defaults))
                _ = try await client.fetch(fixture.get("/me"))
                try await client.close()
            }
            #expect(try await reader.fetch(fixture.get("/me")).value == "ada's")
            try await fixture.store.removeResponses(of: "ada")
            await expect(.offlineMiss) { _ = try await reader.fetch(fixture.get("/me")) }
            let client = fixture.client(.init(defaults: bob, mode: .offline))
            #expect(try await client.fetch(fixture.get("/me")).value == "bob's")
            try await client.close()
        }
    }

    /// A second writer is refused, and the first is not disturbed.
    @Test func secondWriterIsRefused() async throws {
        try await ScriptedClient.run { fixture async throws in
            fixture.script("/x", .fresh("1"))
            for _ in 1...3 {
                let error = await #expect(throws: StoreError.self) {
                    try await CachingClient.open(store: fixture.store.folder, logger: Self.logger)
                }
                #expect(error?.code == .inUse && error?.errorDescription?.isEmpty == false)
            }
            #expect(try await fixture.client.fetch(fixture.get("/x")).value == "1")
            #expect(try await fixture.client.fetch(fixture.get("/x")).source == .store)
        }
    }
}
