import FaultWorkload
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import Logging
import NIOCore
import OfflineStore
import TestSupport
import Testing

#if os(Linux)
    import Glibc

    /// From the request to the disk: the engine with a store that cannot write.
    @Suite(.enabled(if: SmallDisk.isPossible, "this process may not mount a file system"))
    struct EngineOnAFullDiskTests {
        let folder: TemporaryFolder
        let transport = ScriptedTransport()
        let clock = ManualClock()

        init() throws { folder = try TemporaryFolder(inMemory: true) }

        @Test func exchangesContinueAndTheStoreRecovers() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            var store = try await CacheManager.openForFaults(disk.path + "/store", budget: 64 << 20)
            let engine = engine(on: store)
            let large = String(repeating: "0123456789abcdef", count: 20_000)
            #expect(try await get("/kept", returning: "kept", engine) == "kept")

            disk.fill()
            for number in 0..<8 {
                #expect(try await get("/\(number)", returning: large, engine) == large)
                // The stored response is served without the origin: an unscripted request would be
                // a failure.
                #expect(try await get("/kept", engine) == "kept")
            }
            #expect(try await store.statistics().setAside.isEmpty)

            disk.free()
            #expect(try await get("/after", returning: large, engine) == large)
            #expect(try await get("/after", engine) == large)
            #expect(transport.unscripted.isEmpty)
            try await store.close()
            store = try await CacheManager.openForFaults(disk.path + "/store", budget: 64 << 20)
            let again = self.engine(on: store)
            #expect(try await get("/kept", again) == "kept")
            #expect(try await get("/after", again) == large)
            #expect(transport.unscripted.isEmpty)
            try await store.close()
        }

        /// A head's statement about storing is true once the store knows that its disk is full. RFC
        /// 9211 §2.5
        @Test func responsesReportedAsStoredAreStored() async throws {
            let disk = try #require(SmallDisk(in: folder.path))
            let store = try await CacheManager.openForFaults(disk.path + "/store", budget: 64 << 20)
            let engine = engine(on: store)
            let large = String(repeating: "0123456789abcdef", count: 20_000)
            func isStored(_ path: String) async throws -> (said: Bool, is: Bool) {
                let url = "https://a.example" + path
                transport.script(url, .ok(large, fields: [.cacheControl: "max-age=60"]))
                let target = try TargetURI(url)
                let head = HTTPRequest(method: .get, scheme: "https", authority: "a.example", path: path)
                let response = try await engine.respond(to: CacheRequest(head: head))
                #expect(try await response.body.collect(upTo: 1 << 24).readableBytes == large.utf8.count)
                while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
                let found = try await store.responses.lookup(StoreKey(method: .get, target: target))
                return (response.outcome.isStored, !found.isEmpty)
            }
            #expect(try await isStored("/before") == (true, true))
            disk.fill()
            var lies = 0
            for number in 0..<40 {
                let (said, isThere) = try await isStored("/\(number)")
                if said != isThere { lies += 1 }
                clock.advance(by: .milliseconds(300))
            }
            // The first one finds out: its head has been sent by then.
            #expect(lies <= 2)
            disk.free()
            #expect(try await isStored("/after") == (true, true))
            try await store.close()
        }

        /// Fetches a target to its end, and waits until nothing is being stored any more.
        private func get(_ path: String, returning text: String? = nil, _ engine: CacheEngine) async throws -> String {
            let url = "https://a.example" + path
            if let text { transport.script(url, .ok(text, fields: [.cacheControl: "max-age=60"])) }
            let response = try await engine.respond(to: CacheRequest(head: try HTTPRequest(url: url)))
            let body = try await response.body.collect(upTo: 1 << 24)
            while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            return String(buffer: body)
        }

        private func engine(on store: CacheManager) -> CacheEngine {
            var options = EngineOptions()
            options.hardTimeout = nil
            return CacheEngine(
                store: store.responses,
                transport: transport,
                credentialSecret: store.credentialSecret,
                options: options,
                parts: .init(clock: clock, sleeper: ManualDurationClock(), jitter: { 1 }),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
    }
#endif
