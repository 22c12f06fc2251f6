import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore
import OfflineStore
import OfflineStoreRecovery
import TestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files on disk, and who may read them.
///
/// One test after another: the mask for new files belongs to the process.
@Suite(.timeLimit(.minutes(20)), .serialized) struct SecretsTests {
    let folder: TemporaryFolder
    let clock = ManualClock()
    /// Occurs in content that must not be on disk, and nowhere else.
    static let marker = "hunter2-marker"

    init() throws { folder = try TemporaryFolder() }

    /// Responds to every request at once, with `no-store` if the path asks for it.
    private struct Origin: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let isSecret = request.head.path?.hasPrefix("/secret") == true
            let fields: HTTPFields =
                isSecret
                ? [.cacheControl: "no-store", .setCookie: SecretsTests.marker]
                : [.cacheControl: "max-age=60"]
            var body = ByteBuffer()
            while body.readableBytes < 300_000 {
                body.writeString(isSecret ? SecretsTests.marker : "what may be stored")
            }
            return TransportResponse(head: HTTPResponse(status: .ok, headerFields: fields), body: BodyStream(body))
        }
    }

    /// Returns the store's files that contain a text, and unnamed files that this process has open.
    private func files(with text: String) throws -> [String] {
        let text = Array(text.utf8)
        let named = TemporaryFolder.names(folder.store).map { folder.store + "/" + $0 }
        var found = try named.filter { Self.contains(try readFile($0), text) }
        #if os(Linux)
            for path in TemporaryFolder.names("/proc/self/fd").map({ "/proc/self/fd/" + $0 }) {
                guard let file = Self.unnamedFile(at: path) else { continue }
                do {
                    if Self.contains(try readFile(path), text) { found.append(path) }
                } catch {
                    // SQLite closes such a file whenever it likes, also between two of these lines.
                    if Self.unnamedFile(at: path) == file { throw error }
                }
            }
        #endif
        return found
    }

    /// Returns the file behind a descriptor if it is one that SQLite made and unlinked at once.
    private static func unnamedFile(at path: String) -> String? {
        var target = [CChar](repeating: 0, count: 4096)
        guard readlink(path, &target, 4095) > 0 else { return nil }
        let name = target.withUnsafeBufferPointer { String(cString: $0.baseAddress.unsafelyUnwrapped) }
        return name.hasSuffix("(deleted)") && name.contains("etilqs") ? name : nil
    }

    private static func contains(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress, let first = text.first else { return false }
            var offset = 0
            while offset + text.count <= bytes.count,
                let found = memchr(start + offset, Int32(first), bytes.count - text.count + 1 - offset)
            {
                if memcmp(found, text, text.count) == 0 { return true }
                offset = start.distance(to: UnsafeRawPointer(found)) + 1
            }
            return false
        }
    }

    @Test func forbiddenContentReachesNoFile() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let engine = CacheEngine(
            store: store.responses,
            transport: Origin(),
            policy: CachePolicy(kind: .private),
            credentialSecret: store.credentialSecret,
            parts: .init(clock: clock),
            logger: quiet
        )
        for index in 0..<6 {
            for path in ["/secret/\(index)", "/\(index)"] {
                let request = HTTPRequest(
                    method: .get,
                    scheme: "https",
                    authority: "api.example",
                    path: path,
                    headerFields: [.authorization: "Bearer \(Self.marker)"]
                )
                let response = try await engine.respond(to: CacheRequest(head: request))
                for try await _ in response.body { #expect(try files(with: Self.marker) == []) }
            }
        }
        while engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
        #expect(try files(with: Self.marker) == [])
        // The search finds content that is there.
        let whatIsThere = try files(with: "what may be stored")
        #expect(!whatIsThere.isEmpty)
        try await store.settle()
        #expect(try files(with: Self.marker) == [])
        try await store.close()
        #expect(try files(with: Self.marker) == [])
        #expect(try files(with: "what may be stored") == [folder.store + "/0001.sqlite"])
    }

    @Test(arguments: ["object", "response", "large", "tag", "all", "replaced"])
    func securelyRemovedContentIsInNoFile(_ how: String) async throws {
        let store = try await openStore(folder.store, clock: clock) { $0.securelyDeletes = true }
        let key = try cacheKey("/x")
        var secret = ByteBuffer()
        for _ in 0..<(how == "large" ? 400_000 : 500) { secret.writeString(Self.marker) }
        let fields: HTTPFields = [.contentType: "text/plain", .setCookie: Self.marker]
        if how == "object" {
            try await store.setObject([String](repeating: Self.marker, count: 5_000), forKey: "n")
        } else {
            try await store.store(draft(key, at: clock.now(), fields: fields, tags: ["t"]), [secret])
        }
        for index in 0..<20 { try await store.setObject(index, forKey: "other \(index)") }
        #expect(try files(with: Self.marker) != [])
        switch how {
        case "object": try await store.removeObject(forKey: "n")
        case "tag": try await store.removeResponses(tagged: "t")
        case "all": try await store.removeAll()
        case "replaced": try await store.store(draft(key, at: clock.now()), "anew")
        default: try await store.removeResponse(for: key)
        }
        try await store.settle()
        #expect(try files(with: Self.marker) == [])
        try await store.setObject(1, forKey: "another")
        try await store.close()
        #expect(try files(with: Self.marker) == [])
    }

    @Test(arguments: [0o000, 0o022, 0o077] as [mode_t])
    func everyFileIsRestrictedToItsOwner(_ mask: mode_t) async throws {
        let before = umask(mask)
        defer { umask(before) }
        let store = try await openStore(folder.store, clock: clock)
        try await store.store(draft(try cacheKey("/x"), at: clock.now()), [pattern(3 << 20)])
        try await store.responses.invalidate(.all, keepingForOffline: true, at: clock.now())
        let reader = try await openReadOnly(folder.store, clock: clock)
        #expect(try await reader.statistics().responses == 1)
        try store.setAsideForTesting()
        try await store.setObject(1, forKey: "n")
        #expect(try await reader.object(Int.self, forKey: "n") == 1)
        try check(folder.store, atLeast: 9)
        try await reader.close()
        try await store.close()
        try check(folder.store, atLeast: 9)
        let new = folder.path + "/new/store"
        _ = try await CacheManager.recover(from: folder.store, to: new)
        try check(new, atLeast: 3)
        #expect(fileMode(folder.path + "/new") == 0o700)
    }

    private func check(_ path: String, atLeast count: Int) throws {
        #expect(fileMode(path) == 0o700)
        let names = TemporaryFolder.names(path)
        #expect(names.count >= count, "\(names)")
        for name in names { #expect(fileMode(path + "/" + name) == 0o600, "\(name)") }
    }
}
