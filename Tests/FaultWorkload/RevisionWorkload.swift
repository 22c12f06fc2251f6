import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
package import OfflineStore

/// A store whose responses move to other keys, and its expected content before, during and after.
///
/// Each path has several responses, which differ by a parameter that the revision drops. The one
/// received last remains.
package enum RevisionWorkload {
    private static let paths = 90
    /// The number of responses for one path.
    private static let count = 4

    /// Drops the parameter.
    package static let revising: CacheManager.Revising = { stored in
        let parts = stored.key.components
        let target = parts.target.ignoring(ParameterNames(["session"]))
        return ResponseRevision(key: StoreKey(partition: parts.partition, method: parts.method, target: target))
    }

    /// Stores every response under its first key. Those received last are not the ones stored last.
    package static func fill(_ store: CacheManager) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for path in 0..<paths {
                if path >= 8 { try await group.next() }
                group.addTask { for index in 0..<count { try await put(path, index, in: store) } }
            }
            try await group.waitForAll()
        }
    }

    private static func put(_ path: Int, _ index: Int, in store: CacheManager) async throws {
        let content = content(path, index)
        let received = Timestamp(milliseconds: 1_000_000 + Int64((index + path) % count))
        let draft = ResponseDraft(
            key: StoreKey(target: try target(path, index)),
            head: StoredResponseHead(
                status: .ok,
                fields: [.eTag: "\(index)"],
                requestTime: received,
                responseTime: received
            ),
            freshUntil: .distantFuture,
            isUsableStale: true,
            storedAt: received,
            tags: ["path \(path)", "all"]
        )
        guard
            let writer = try await store.responses.beginWrite(
                draft,
                fencingNumber: store.responses.invalidationSequence
            )
        else { throw Wrong("nothing is stored just now") }
        try await writer.append(content.bytes)
        guard try await writer.finish() != nil else { throw Wrong("an invalidation came between") }
    }

    private static func content(_ path: Int, _ index: Int) -> Content {
        // Some have several chunks, some none.
        Content(seed: UInt64(path * count + index), length: [300, 0, 70_000, 2_000, 900][path % 5])
    }

    private static func target(_ path: Int, _ index: Int?) throws -> TargetURI {
        try TargetURI("https://origin.example/\(path)" + (index.map { "?session=\($0)" } ?? ""))
    }

    /// Returns the findings about a revised store.
    ///
    /// - Parameter isFinished: `false` if the revision may have been interrupted. Then each
    ///   response has its former key or its new one, or was replaced by one that was received
    ///   later.
    package static func findings(_ store: CacheManager, isFinished: Bool) async throws -> [String] {
        var findings: [String] = []
        var entries = 0
        for path in 0..<paths {
            let revised = try await found(at: try target(path, nil), path, in: store, &findings)
            if revised != nil { entries += 1 }
            for index in 0..<count {
                let old = try await found(at: try target(path, index), path, in: store, &findings)
                if old != nil { entries += 1 }
                if old == index { continue }
                if let old { findings.append("/\(path)?session=\(index) holds what was stored under \(old)") }
                if let revised, rank(path, revised) >= rank(path, index) { continue }
                findings.append("/\(path)?session=\(index) is neither there nor under its new key")
            }
            guard isFinished else { continue }
            let newest = (0..<count).max { rank(path, $0) < rank(path, $1) }
            if revised != newest { findings.append("/\(path) is not the response received last") }
        }
        let statistics = try await store.statistics()
        if statistics.responses != entries { findings.append("\(statistics.responses) responses, \(entries) found") }
        if isFinished, entries != paths { findings.append("\(entries) responses are left for \(paths) paths") }
        if !statistics.setAside.isEmpty { findings.append("a database was set aside") }
        return findings
    }

    /// Returns the order of receipt: later is larger.
    private static func rank(_ path: Int, _ index: Int) -> Int { (index + path) % count }

    /// Returns the index of the stored response for a target, with every byte compared.
    private static func found(
        at target: TargetURI,
        _ path: Int,
        in store: CacheManager,
        _ findings: inout [String]
    ) async throws -> Int? {
        let responses = try await store.responses.lookup(StoreKey(target: target))
        guard let response = responses.first else { return nil }
        if responses.count > 1 { findings.append("\(target) has \(responses.count) variants") }
        guard let index = response.head.fields[.eTag].flatMap({ Int($0) }),
            let body = try await store.responses.openBody(of: response)
        else {
            findings.append("\(target) has no body")
            return nil
        }
        if try await body.collect(upTo: 1 << 20) != content(path, index).bytes {
            findings.append("\(target) holds other bytes than were stored")
        }
        if response.head.isInvalidated { findings.append("\(target) is treated as invalidated") }
        let entry = try await store.entries(for: target).first
        guard let entry, try await store.tags(of: entry) == ["all", "path \(path)"] else {
            findings.append("\(target) has other tags than it was stored with")
            return index
        }
        return index
    }
}
