import FaultWorkload
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// A process that reads a store learns of another process's writes.
@Suite(.timeLimit(.minutes(20))) struct ReaderProcessTests {
    let folder: TemporaryFolder
    init() throws { folder = try TemporaryFolder(inMemory: true) }

    /// Runs the worker, and `line` in this process after each of its lines.
    private func work(
        _ url: String,
        _ count: Int,
        after line: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> [String] {
        let (lines, written) = AsyncStream.makeStream(of: Int.self)
        let writing = Task {
            for await count in lines { try await line(count) }
        }
        let ending = try await WorkerProcess("follow", folder.path + "/store", url, "\(count)").run {
            if $0 > 0 { written.yield($0) }
            return nil
        }
        written.finish()
        try await writing.value
        #expect(ending.status == 0 && ending.signal == 0, "\(ending)")
        return ending.lines
    }

    /// Each change is awaited before the next is made, so each is reported by itself. The writer's
    /// own commits after an invalidation are reported too.
    @Test func changesReachAnotherProcess() async throws {
        let store = try await CacheManager.openForFaults(folder.path + "/store")
        let lines = try await work("-", 2) { line in
            switch line {
            case 1: try await store.setObject(1, forKey: "n")
            case 2: try await store.invalidateAllResponses()
            case 3: try await store.setObject(2, forKey: "n")
            default: break
            }
        }
        #expect(lines.prefix(3) == ["open", "change stored 1", "change invalidated 1"])
        #expect(lines.last == "change stored 2")
        try await store.close()
    }

    @Test func objectsAreObservedFromAnotherProcess() async throws {
        let store = try await CacheManager.openForFaults(folder.path + "/store")
        let lines = try await work("object", 3) { line in
            switch line {
            case 2: try await store.setObject(1, forKey: "n")
            case 3:
                // Another object is no reason for a line.
                try await store.setObject(7, forKey: "other")
                try await store.removeObject(forKey: "n")
            case 4: try await store.setObject(3, forKey: "n")
            default: break
            }
        }
        #expect(lines == ["open", "object none", "object 1", "object none", "object 3"])
        try await store.close()
    }

    @Test func streamsFollowEntriesStoredByAnotherProcess() async throws {
        let store = try await CacheManager.openForFaults(folder.path + "/store")
        let url = "https://a.example/page"
        let key = StoreKey(method: .get, target: try TargetURI(url))
        @Sendable func put(_ text: String) async throws {
            let response = RawResponse(
                status: .ok,
                fields: [.contentType: "text/plain"],
                body: ByteBuffer(string: text)
            )
            try await store.setResponse(response, for: key, expiry: .after(.seconds(60)))
        }
        try await put("one")
        let lines = try await work(url, 3) { line in
            switch line {
            case 2: try await put("two")
            case 3: try await put("three")
            default: break
            }
        }
        #expect(lines == ["open", "value one", "value two", "value three"])
        try await store.close()
    }
}
