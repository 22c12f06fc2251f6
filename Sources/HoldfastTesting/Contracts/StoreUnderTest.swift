package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes
package import NIOCore

/// A store under test, with the operations that most rules need.
package struct StoreUnderTest: Sendable {
    let store: any ResponseStore
    let findings: Findings
    let seed: UInt64
    let reopen: (@Sendable (any ResponseStore) async throws -> any ResponseStore)?

    package init(
        store: any ResponseStore,
        findings: Findings,
        seed: UInt64,
        reopen: (@Sendable (any ResponseStore) async throws -> any ResponseStore)? = nil
    ) {
        (self.store, self.findings, self.seed, self.reopen) = (store, findings, seed, reopen)
    }

    /// 2026-01-01T00:00:00Z.
    static let now = Timestamp(seconds: 1_767_225_600)
    /// A length that a store is unlikely to accept in one piece.
    static let large = 1_500_001

    var sequence: InvalidationSequence { store.invalidationSequence }

    /// Closes the store, opens it again, and returns it under test.
    func reopened() async throws -> StoreUnderTest {
        guard let reopen else { throw CheckEnded() }
        return StoreUnderTest(store: try await reopen(store), findings: findings, seed: seed, reopen: reopen)
    }

    package func key(
        _ path: String,
        _ partition: StoreKey.Partition = .common,
        method: HTTPRequest.Method = .get,
        content: StoreKey.Content? = nil
    ) throws -> StoreKey {
        StoreKey(partition: partition, method: method, target: try target(path), content: content)
    }

    func target(_ path: String) throws -> TargetURI { try TargetURI("https://store.example" + path) }

    func prefix(_ requestTarget: String) throws -> TargetPrefix {
        try TargetPrefix("https://store.example" + requestTarget)
    }

    package func draft(
        _ key: StoreKey,
        fields: HTTPFields = [.contentType: "text/plain"],
        selecting: HTTPFields = [:],
        tags: [String] = []
    ) -> ResponseDraft {
        ResponseDraft(
            key: key,
            head: StoredResponseHead(
                requestMethod: key.components.method,
                selectingFields: selecting,
                status: .ok,
                fields: fields,
                requestTime: Self.now,
                responseTime: Self.now
            ),
            freshUntil: Self.now.adding(.seconds(60)),
            isUsableStale: true,
            storedAt: Self.now,
            tags: tags
        )
    }

    package func body(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    /// Returns bytes that are always the same for a given length and salt. No two 4 KiB blocks are
    /// equal.
    func noise(_ length: Int, _ salt: UInt64 = 0) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.reserveCapacity(length + 4096)
        var stamp = SeededRandom(seed: seed &+ salt &* 7_919 &+ UInt64(length))
        while buffer.readableBytes < length {
            buffer.writeInteger(stamp.next())
            buffer.writeBytes(Self.page)
        }
        return buffer.getSlice(at: 0, length: length) ?? buffer
    }

    private static let page: [UInt8] = {
        var random = SeededRandom(seed: 7)
        return (0..<4088).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }()

    package func begin(
        _ draft: ResponseDraft,
        _ fencingNumber: InvalidationSequence? = nil
    ) async throws -> any StoredResponseWriter {
        try findings.unwrap(
            try await store.beginWrite(draft, fencingNumber: fencingNumber ?? sequence),
            "an empty store declined to store a small response"
        )
    }

    /// Stores a complete response; returns `nil` if the store reports that it did not store it.
    @discardableResult
    package func put(
        _ draft: ResponseDraft,
        _ body: ByteBuffer,
        _ fencingNumber: InvalidationSequence? = nil
    ) async throws -> StoredResponse? {
        guard let writer = try await store.beginWrite(draft, fencingNumber: fencingNumber ?? sequence) else {
            return nil
        }
        if body.readableBytes > 0 { try await writer.append(body) }
        return try await writer.finish()
    }

    /// Stores a response, and ends the check if the store rejects it.
    @discardableResult
    func mustPut(_ draft: ResponseDraft, _ body: ByteBuffer) async throws -> StoredResponse {
        try findings.unwrap(
            try await put(draft, body),
            "a small response was not stored, though nothing was invalidated"
        )
    }

    /// Returns the body of a response; `nil` if the response is gone.
    func read(_ response: StoredResponse, _ range: Range<Int64>? = nil) async throws -> ByteBuffer? {
        try await store.openBody(of: response, range: range)?.collect(upTo: 1 << 30)
    }

    func text(_ response: StoredResponse) async throws -> String? {
        try await read(response).map { String(buffer: $0) }
    }

    /// Returns the texts of all responses stored under a key, sorted.
    func texts(_ key: StoreKey) async throws -> [String?] {
        var texts: [String?] = []
        for response in try await store.lookup(key) { texts.append(try await text(response)) }
        return texts.sorted { ($0 ?? "") < ($1 ?? "") }
    }

    /// Returns whether the response is marked; `nil` if there is no response.
    package func mark(_ key: StoreKey) async throws -> Bool? {
        try await store.lookup(key).first?.head.isInvalidated
    }

    /// Returns the reason that the first response under a key was invalidated; `nil` if it was not
    /// invalidated or does not exist.
    func cause(_ key: StoreKey) async throws -> InvalidationCause? {
        try await store.lookup(key).first?.head.invalidation
    }

    @discardableResult
    func invalidate(_ scope: InvalidationScope, soft: Bool) async throws -> InvalidationSequence {
        try await store.invalidate(scope, keepingForOffline: soft, at: Self.now)
    }

    /// Returns the renewal that a 304 produces for a response.
    func renewal(_ response: StoredResponse, fields: HTTPFields? = nil, tags: [String] = []) -> ResponseDraft {
        var draft = draft(response.key, tags: tags)
        draft.head = response.head
        draft.head.isInvalidated = false
        draft.head.responseTime = Self.now.adding(.seconds(10))
        if let fields { draft.head.fields = fields }
        return draft
    }

    func random(_ salt: UInt64) -> SeededRandom { SeededRandom(seed: seed &* 31 &+ salt) }
}

/// The scope's name in a finding.
extension InvalidationScope {
    var word: String {
        switch self {
        case .all: "all"
        case .host: "host"
        case .key: "key"
        case .prefix: "prefix"
        case .principal: "principal"
        case .tag: "tag"
        case .target: "target"
        }
    }
}
