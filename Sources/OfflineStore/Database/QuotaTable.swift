import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import StoreFiles
import StoreMemory

/// The quotas of a configuration, by tag name.
///
/// An origin's bytes are summed under an internal tag. Callers cannot set, name or invalidate it,
/// because its name begins with a byte that never occurs in UTF-8.
struct QuotaTable: Sendable {
    /// A quota that applies to a response.
    struct Limit: Sendable {
        var bytes: Int64
        /// The subject of the quota, for messages.
        var subject: String

        func error(_ name: String) -> StoreError {
            StoreError(
                code: .tooLarge,
                message: "\(name) exceeds the quota of \(bytes) bytes for \(subject) and is not stored. "
                    + "Raise the quota in 'quotas'."
            )
        }
    }

    private static let originMark: UInt8 = 0xff

    private var limits: [[UInt8]: Limit] = [:]
    private var everyOrigin: Int64?
    private var hasOrigins = false

    /// - Throws: ``StoreError`` with `invalidConfiguration`.
    init(_ quotas: [CacheManager.Quota]) throws {
        for quota in quotas {
            let (bytes, subject) = try Self.name(quota)
            guard quota.bytes > 0 else {
                throw Self.invalid(
                    "The quota of '\(quota.bytes)' bytes for \(subject) is too small. The minimum is 1."
                )
            }
            guard let bytes else {
                guard everyOrigin == nil else { throw Self.invalid("There are two quotas for \(subject). Keep one.") }
                everyOrigin = quota.bytes
                hasOrigins = true
                continue
            }
            if case .origin = quota.subject { hasOrigins = true }
            guard limits.updateValue(Limit(bytes: quota.bytes, subject: subject), forKey: bytes) == nil else {
                throw Self.invalid("There are two quotas for \(subject). Keep one.")
            }
        }
    }

    var isEmpty: Bool { limits.isEmpty && everyOrigin == nil }

    /// Returns the quota for a tag.
    func limit(ofTag bytes: [UInt8]) -> Limit? {
        if let limit = limits[bytes] { return limit }
        guard let everyOrigin, Self.isInternal(bytes) else { return nil }
        return Limit(bytes: everyOrigin, subject: "the origin '\(String(decoding: bytes.dropFirst(), as: UTF8.self))'")
    }

    /// Returns the internal tag of a response's origin; `nil` if there is no quota for it.
    ///
    /// - Parameter target: computed only if origins have quotas.
    func originTag(of target: @autoclosure () -> TargetURI) -> [UInt8]? {
        guard hasOrigins else { return nil }
        let bytes = Self.originTag(target())
        return limit(ofTag: bytes) == nil ? nil : bytes
    }

    /// Returns the smallest quota that applies to a response.
    func tightest(for draft: ResponseDraft) -> Limit? {
        if isEmpty { return nil }
        var names = draft.tags.map { Array($0.utf8) }
        if let origin = originTag(of: draft.key.components.target) { names.append(origin) }
        return names.compactMap { limit(ofTag: $0) }.min { $0.bytes < $1.bytes }
    }

    /// The most quotas whose usage is shown.
    static let shownUses = 64

    /// Returns the quotas' usage, in alphabetical order.
    func uses(_ connection: Connection, _ state: DatabaseState) throws -> [QuotaUse] {
        // The sums are newer than tags. A process that only reads may see an older schema.
        guard state.has(DatabaseState.sweepSchemaVersion) else { return [] }
        var uses: [QuotaUse] = []
        if let everyOrigin {
            uses.append(.init(quota: "each-origin", bytes: try mostOfEachOrigin(connection), limit: everyOrigin))
        }
        let names = limits.map { (Self.shown($0.key), $0.key, $0.value.bytes) }.sorted { $0.0 < $1.0 }
        for (name, tag, limit) in names.prefix(Self.shownUses) {
            let id = try TagName(bytes: tag, hash: state.hash(tag, .tag)).number(connection)
            let bytes = try id.flatMap { try connection.integer("SELECT octets FROM tag WHERE id = ?1", $0) } ?? 0
            uses.append(.init(quota: name, bytes: bytes, limit: limit))
        }
        return uses
    }

    private static func shown(_ tag: [UInt8]) -> String {
        isInternal(tag)
            ? "origin:" + String(decoding: tag.dropFirst(), as: UTF8.self)
            : "tag:" + String(decoding: tag, as: UTF8.self)
    }

    /// Returns the bytes of the largest origin without a quota of its own.
    private func mostOfEachOrigin(_ connection: Connection) throws -> Int64 {
        let statement = try connection.prepare(
            "SELECT name, octets FROM tag WHERE name >= x'ff' ORDER BY octets DESC LIMIT ?1"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(limits.count) + 1)
        while try statement.step() {
            if limits[statement.bytes(0)] == nil { return statement.integer(1) }
        }
        return 0
    }

    /// Whether a tag is internal. Internal tags are never shown.
    static func isInternal(_ bytes: some Collection<UInt8>) -> Bool { bytes.first == originMark }

    /// Returns the name of an origin's internal tag, with or without a quota.
    static func originTag(_ target: TargetURI) -> [UInt8] {
        [originMark] + Array("\(target.scheme)://\(target.authority)".utf8)
    }

    private static func name(_ quota: CacheManager.Quota) throws -> (bytes: [UInt8]?, subject: String) {
        switch quota.subject {
        case .everyOrigin: return (nil, "every origin")
        case .tag(let name):
            guard (1...ResponseDraft.maximumTagLength).contains(name.utf8.count) else {
                throw invalid(
                    "A quota's tag must have 1 to \(ResponseDraft.maximumTagLength) bytes; '\(name.prefix(64))' has \(name.utf8.count)."
                )
            }
            return (Array(name.utf8), "the tag '\(name)'")
        case .origin(let origin):
            guard let target = try? TargetURI(origin), target.path == "/", target.query == nil else {
                throw invalid(
                    "'\(origin)' is not an origin. Write a scheme, a host and an optional port, such as 'https://a.example:8443'."
                )
            }
            return (originTag(target), "the origin '\(target.scheme)://\(target.authority)'")
        }
    }

    private static func invalid(_ message: String) -> StoreError {
        StoreError(code: .invalidConfiguration, message: message + " See 'quotas'.")
    }
}
