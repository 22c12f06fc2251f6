import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// The client for tests, and its recordings of streams and callbacks.
@Suite(.timeLimit(.minutes(20))) struct TestClientTests {
    private let endpoint = PathEndpoint(baseURL: "https://a.example", path: "/x")
    private let url = "https://a.example/x"

    @Test func unscriptedCallIsReportedAtTheEnd() async {
        await #expect(throws: UnscriptedCalls(targets: ["https://a.example/x"])) {
            try await withTestClient { test in _ = try? await test.client.fetch(endpoint) }
        }
    }

    /// The product works with any test library and imports none.
    @Test func noSourceOfTheProductImportsATestLibrary() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../Sources/HoldfastTesting")
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        #expect(names.count > 10)
        for name in names {
            let text = try String(contentsOf: root.appending(path: name), encoding: .utf8)
            #expect(!text.contains(/import (Testing|XCTest)\b/), "\(name)")
        }
    }

    struct Own: Error {}

    @Test func errorOfTheBodyComesFirst() async {
        await #expect(throws: Own.self) {
            try await withTestClient { test in
                _ = try? await test.client.fetch(endpoint)
                throw Own()
            }
        }
    }

    @Test func storeIsRemovedAfterTheTest() async throws {
        let folder = Mutex<String?>(nil)
        let value = try await withTestClient { test in
            test.transport.script(url, .fresh("x"))
            let value = try await endpoint.cache.fetch().value
            let stored = try await test.client.stored(endpoint)
            #expect(stored?.value == value)
            folder.withLock { $0 = test.store.folder }
            return value
        }
        #expect(value == "x")
        let path = try #require(folder.withLock { $0 })
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func recordingHasTheEndOfTheStream() async throws {
        try await withTestClient { test in
            test.transport.script(url, .fresh("1"), .fresh("2"), .fresh("3"))
            let first = await test.client.startWith(endpoint).recorded()
            #expect(first.values == ["1"] && first.isComplete)
            let limited = await test.client.startWith(endpoint).recorded(upTo: 1)
            #expect(limited.sources == [.store] && !limited.isComplete && limited.failure == nil)
            test.transport.isReachable = false
            let failed = await test.client.startWith(endpoint).recorded()
            #expect(failed.sources == [.store] && failed.failure?.code == .originUnreachable)
        }
    }

    @Test func recorderKeepsTheOrderOfCallbacks() async throws {
        try await withTestClient { test in
            test.transport.script(url, .fresh("1"), .fresh("2"))
            let recorder = CallbackRecorder<String>()
            await recorder.subscribe(to: test.client.startWith(endpoint)).finished()
            let both = test.client.onCache(endpoint) { recorder.stored($0) }
                .request(onNext: { recorder.next($0) }, onCompleted: { recorder.completed() })
            await both.finished()
            test.client.mode = .offline
            let other = PathEndpoint(baseURL: "https://a.example", path: "/y")
            await recorder.subscribe(to: test.client.startWith(other)).finished()
            let order = ["next network", "completed", "stored", "next network", "completed", "error offlineMiss"]
            #expect(recorder.order == order)
            #expect(recorder.values == ["1", "1", "2"])
        }
    }
}
