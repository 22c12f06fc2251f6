import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HTTPTypes
import OfflineStore

/// Everything that `show` prints about an entry.
struct EntryDetails: Encodable {
    let report: EntryReport
    private let head: StoredResponseHead?
    private let tags: [String]
    private let preview: (text: String, isWhole: Bool)?
    /// The reason that the preview is missing.
    private let bodyProblem: String?

    init(_ entry: StoreEntry, in store: CacheManager, at now: Timestamp) async throws {
        head = entry.kind == .response ? try await store.response(of: entry)?.head : nil
        tags = try await store.tags(of: entry)
        report = EntryReport(entry, head: head, at: now)
        do {
            preview = try await Body(store: store, entry: entry).preview()
            bodyProblem = nil
        } catch let error as StoreError {
            // An entry with a damaged body is still shown.
            preview = nil
            bodyProblem = error.message
        }
    }

    private var fields: HTTPFields { head.map { redactedFields($0.fields) } ?? [:] }
    private var selectingFields: HTTPFields { head.map { redactedFields($0.selectingFields) } ?? [:] }

    private var lifetime: FreshnessLifetime? {
        head.map { CachePolicy(kind: .private).freshnessLifetime(of: $0) }
    }

    // MARK: JSON

    private enum CodingKeys: String, CodingKey {
        case tags, fields, selectingFields, freshnessSource, freshnessLifetimeSeconds, bodyPreview, invalidatedBy
    }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(tags, forKey: .tags)
        try container.encode(fields.map { [$0.name.rawName, $0.value] }, forKey: .fields)
        try container.encode(selectingFields.map { [$0.name.rawName, $0.value] }, forKey: .selectingFields)
        try container.encode(lifetime?.source.rawValue, forKey: .freshnessSource)
        try container.encode(lifetime.map { seconds($0.milliseconds) }, forKey: .freshnessLifetimeSeconds)
        try container.encode(preview?.text, forKey: .bodyPreview)
        try container.encode(report.entry.invalidation?.word, forKey: .invalidatedBy)
    }

    // MARK: Text

    func lines(at now: Timestamp) -> [String] {
        let method = report.entry.method.map { $0.rawValue + " " } ?? ""
        var lines = [Formatting.printable(method + report.name)]
        for (name, value) in facts(at: now) {
            lines.append("  " + Formatting.padded(name, to: 14) + Formatting.printable(value))
        }
        lines += section("selecting request fields", selectingFields)
        lines += section("response fields", fields)
        return lines + bodyLines
    }

    private func facts(at now: Timestamp) -> [(String, String)] {
        let entry = report.entry
        var facts = [
            ("id", "\(entry.shortID), entry \(entry.id)"),
            ("kind", entry.kind.rawValue),
        ]
        if let status = entry.status { facts.append(("status", "\(status.code) \(status.reasonPhrase)")) }
        if let partition = entry.partition { facts.append(("stored for", partition.word)) }
        facts.append(("state", "\(report.state.rawValue): \(report.state.explanation)"))
        facts.append(("age", Formatting.duration(milliseconds: report.age)))
        if let lifetime {
            facts.append(
                ("fresh for", "\(Formatting.duration(milliseconds: lifetime.milliseconds)) (\(lifetime.source.words))")
            )
        }
        facts.append(("fresh until", moment(entry.expiresAt, at: now) ?? "always"))
        facts.append(("stored", moment(entry.storedAt, at: now) ?? ""))
        facts.append(("last used", moment(entry.lastUsedAt, at: now) ?? ""))
        if entry.invalidation == .unsafeMethod {
            facts.append(("invalidated", "by a successful unsafe method, not by a purge"))
        }
        if entry.isPinned { facts.append(("pinned", "not evicted")) }
        if !tags.isEmpty { facts.append(("tags", tags.joined(separator: ", "))) }
        facts.append(("body", "\(entry.bodyLength) bytes, \(entry.contentType ?? "no content type")"))
        return facts
    }

    private func moment(_ timestamp: Timestamp?, at now: Timestamp) -> String? {
        guard let timestamp else { return nil }
        let distance = now.milliseconds(since: timestamp)
        let words = Formatting.duration(milliseconds: distance < 0 ? -distance : distance)
        return "\(Formatting.date(timestamp)) (\(distance < 0 ? "in \(words)" : "\(words) ago"))"
    }

    private func section(_ title: String, _ fields: HTTPFields) -> [String] {
        guard !fields.isEmpty else { return [] }
        return ["", title] + fields.map { "  \($0.name.rawName): \(Formatting.printable($0.value))" }
    }

    private var bodyLines: [String] {
        if let bodyProblem { return ["", "body cannot be read", "  \(bodyProblem)"] }
        guard let preview else { return [] }
        var lines = preview.text.split(separator: "\n", omittingEmptySubsequences: false)
        // A trailing line break does not begin another line.
        if lines.last?.isEmpty == true { lines.removeLast() }
        return [
            "", preview.isWhole ? "body" : "body, first \(preview.text.utf8.count) bytes ('--body' writes all of it)",
        ]
            + lines.map { "  " + Formatting.printable(String($0)) }
    }
}

extension InvalidationCause {
    /// The word in JSON output.
    fileprivate var word: String {
        switch self {
        case .unspecified: "unspecified"
        case .unsafeMethod: "unsafe-method"
        }
    }
}

extension FreshnessLifetime.Source {
    /// The source of the lifetime, in words.
    fileprivate var words: String {
        switch self {
        case .explicitExpiry: "set by the caller"
        case .rule: "a rule"
        case .ruleDefault: "a rule; the origin sets none"
        case .sMaxage: "s-maxage"
        case .maxAge: "max-age"
        case .expires: "Expires"
        case .heuristic: "estimated from Last-Modified"
        case .none: "none set by the origin"
        }
    }
}
