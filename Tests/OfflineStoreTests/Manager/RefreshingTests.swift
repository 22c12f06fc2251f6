import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import TestSupport
import Testing

@testable import OfflineStore

/// Reading purged responses, whose requests are made again.
@Suite(.timeLimit(.minutes(20))) struct RefreshingTests {
    let folder: TemporaryFolder
    let clock = ManualClock()

    init() throws { folder = try TemporaryFolder() }

    private func put(
        _ url: String,
        _ store: CacheManager,
        partition: StoreKey.Partition = .common,
        tags: [String] = []
    ) async throws {
        let key = StoreKey(partition: partition, method: .get, target: try TargetURI(url))
        try await store.store(draft(key, at: clock.now(), tags: tags), "x")
    }

    /// Reads every page.
    private func all(_ scopes: [InvalidationScope], _ store: CacheManager) async throws -> (
        urls: [String], skipped: Int
    ) {
        var (urls, skipped): ([String], Int) = ([], 0)
        var cursor: RefreshCursor? = RefreshCursor()
        while let place = cursor {
            let page = try await store.invalidated(scopes, from: place)
            urls += page.targets.map {
                "\($0.request.scheme ?? "")://\($0.request.authority ?? "")\($0.request.path ?? "")"
            }
            skipped += page.skipped
            cursor = page.next
        }
        return (urls, skipped)
    }

    @Test func onlyInvalidatedResponsesOfTheScopesAreRead() async throws {
        let store = try await openStore(folder.store, clock: clock)
        for path in ["1", "2", "x"] { try await put("https://a.example/\(path)", store, tags: ["t"]) }
        try await put("https://b.example/1", store)
        try await put("https://a.example/mine", store, partition: .principal("ada"), tags: ["t"])
        let prefix = InvalidationScope.prefix(try TargetPrefix("https://a.example/"))
        #expect(try await all([prefix, .tag("t")], store) == ([], 0))
        _ = try await store.invalidate([.tag("t")], keepingForOffline: true)
        // Before the sweep and after it.
        for _ in 0..<2 {
            let found = try await all([prefix], store)
            #expect(found.urls == ["1", "2", "x"].map { "https://a.example/\($0)" } && found.skipped == 1)
            #expect(
                try await all([.target(try TargetURI("https://a.example/2"))], store).urls == ["https://a.example/2"]
            )
            #expect(try await all([.tag("t")], store).urls.count == 3)
            #expect(try await all([.host(try TargetHost("b.example")), .tag("none")], store) == ([], 0))
            try await store.settle()
        }
        // One that is stored again is not read any more.
        try await put("https://a.example/2", store, tags: ["t"])
        #expect(try await all([.all], store).urls == ["https://a.example/1", "https://a.example/x"])
        try await store.close()
    }

    @Test func moreThanOnePageIsRead() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let count = Int(CacheManager.refreshPage) * 2 + 3
        for number in 0..<count { try await put("https://a.example/\(number)", store, tags: ["t"]) }
        _ = try await store.invalidate([.tag("t")], keepingForOffline: true)
        let scopes: [InvalidationScope] = [.tag("t"), .target(try TargetURI("https://a.example/0"))]
        #expect(try await all(scopes, store).urls.count == count + 1)
        try await store.close()
    }

    @Test func selectingFieldsAreSentAgain() async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = StoreKey(target: try TargetURI("https://a.example/"))
        for language in ["de", "en"] {
            let fields: HTTPFields = [.vary: "Accept-Language"]
            let draft = draft(key, at: clock.now(), fields: fields, selecting: [.acceptLanguage: language])
            try await store.store(draft, language)
        }
        _ = try await store.invalidate([.all], keepingForOffline: true)
        let page = try await store.invalidated([.all], from: RefreshCursor())
        #expect(page.targets.map { $0.request.headerFields[.acceptLanguage] } == ["de", "en"])
        try await store.close()
    }

    /// A representation that was stored as one part may have become longer. With `Vary: Range`,
    /// only the same value selects the part.
    @Test(
        arguments: [
            ("bytes 7-7/10", nil, "bytes=7-7"), ("bytes 0-0/*", nil, "bytes=0-0"), ("bytes 0-0/1", nil, nil),
            ("bytes 9-9/10", "bytes=9-", "bytes=9-"),
        ] as [(String, String?, String?)]
    )
    func partIsRequestedWithItsRange(_ stored: String, _ selecting: String?, _ requested: String?) async throws {
        let store = try await openStore(folder.store, clock: clock)
        let key = StoreKey(target: try TargetURI("https://a.example/"))
        var part = draft(key, at: clock.now(), fields: [.contentRange: stored])
        part.head.status = .partialContent
        part.head.selectingFields[.range] = selecting
        try await store.store(part, "x")
        _ = try await store.invalidate([.all], keepingForOffline: true)
        let page = try await store.invalidated([.all], from: RefreshCursor())
        #expect(page.targets.map { $0.request.headerFields[.range] } == [requested])
        try await store.close()
    }
}
