import Foundation
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import OfflineStore
import TestSupport
import Testing

/// A store with every kind of entry, and with secrets in every place that could leak them.
enum SampleStore {
    /// Occurs in every secret, and nowhere else.
    static let secret = "hunter2"

    static let feed = "http://a.example/moments?userID=harbour"
    static let guarded = "https://a.example/me?token=\(secret)&page=2"

    struct Draft: Codable, Sendable {
        let title: String
    }

    /// Two minutes ago, so that a response with a lifetime of one minute is stale, and one with an
    /// hour is fresh.
    private struct EarlierClock: WallClock {
        func now() -> Timestamp { SystemWallClock().now().adding(milliseconds: -120_000) }
    }

    /// Makes the store, runs `body` while it is open for writing, and closes it.
    static func with(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("a.store").path
            let store = try await CacheManager.open(at: path, clock: EarlierClock())
            try await fill(store)
            try await body(path)
            try await store.close()
        }
    }

    /// Makes the store, closes it, and runs `body` when no process has it open.
    static func withClosed(_ body: (String) async throws -> Void) async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("a.store").path
            let store = try await CacheManager.open(at: path, clock: EarlierClock())
            try await fill(store)
            try await store.close()
            try await body(path)
        }
    }

    /// Makes a closed store with many responses.
    static func fill(_ path: String, responses: Int, tag: String) async throws {
        let store = try await CacheManager.open(at: path, clock: EarlierClock())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<8 {
                group.addTask {
                    for number in stride(from: part, to: responses, by: 8) {
                        let fields: HTTPFields = [.cacheControl: "max-age=3600"]
                        try await put("http://a.example/\(number)", fields, body: "x", tags: [tag], in: store)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await store.close()
    }

    private static func fill(_ store: CacheManager) async throws {
        try await put(
            feed,
            [.cacheControl: "max-age=60", .contentType: "application/json", .eTag: "\"1\""],
            body: #"{"moments":[]}"#,
            in: store
        )
        try await put(
            "http://a.example/hour",
            [.cacheControl: "max-age=3600", .contentType: "text/plain"],
            body: String(repeating: "é", count: 3_000),
            in: store
        )
        try await put(
            "http://a.example/strict",
            [.cacheControl: "max-age=60, must-revalidate"],
            body: "\u{1}\u{2}",
            in: store
        )
        try await put(
            guarded,
            [
                .cacheControl: "max-age=3600", .contentType: "text/plain", .setCookie: "sid=\(secret); Path=/",
                .location: "/x?api_key=\(secret)",
            ],
            body: "guarded\u{1B}[31m",
            principal: "somebody",
            in: store
        )
        for language in ["de", "en"] {
            try await put(
                "http://a.example/greeting",
                [.cacheControl: "max-age=3600", .vary: "Accept-Language", .contentType: "text/plain"],
                body: language,
                selecting: [.acceptLanguage: language],
                in: store
            )
        }
        try await store.setObject(Draft(title: "unsent"), forKey: "draft", expiry: .never)
        try await store.setObject(Draft(title: "old"), forKey: "old/draft", expiry: .after(.seconds(60)))
    }

    private static func put(
        _ url: String,
        _ fields: HTTPFields,
        body: String,
        selecting: HTTPFields = [:],
        principal: String? = nil,
        tags: [String] = [],
        in store: CacheManager
    ) async throws {
        let now = EarlierClock().now()
        let head = StoredResponseHead(
            selectingFields: selecting,
            status: .ok,
            fields: fields,
            requestTime: now,
            responseTime: now
        )
        let policy = CachePolicy(kind: .private)
        let key = StoreKey(
            partition: principal.map { .principal($0) } ?? .common,
            method: .get,
            target: try TargetURI(url)
        )
        let draft = ResponseDraft(
            key: key,
            head: head,
            freshUntil: policy.freshUntil(head),
            isUsableStale: fields[.cacheControl]?.contains("must-revalidate") != true,
            storedAt: now,
            tags: tags
        )
        let fencingNumber = store.responses.invalidationSequence
        let writer = try #require(try await store.responses.beginWrite(draft, fencingNumber: fencingNumber))
        try await writer.append(ByteBuffer(string: body))
        _ = try await writer.finish()
    }
}
