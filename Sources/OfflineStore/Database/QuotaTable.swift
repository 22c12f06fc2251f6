import HTTPCache
import HTTPCacheSemantics

/// The quotas of a configuration, by the names of the tags that are counted.
///
/// An origin is counted as a tag that nobody can give, name or invalidate: its name begins with a
/// byte that UTF-8 does not have.
struct QuotaTable: Sendable {
    /// A quota that applies to a response.
    struct Limit: Sendable {
        var bytes: Int64
        /// What it is of, for messages.
        var subject: String

        func error(_ name: String) -> StoreError {
            StoreError(
                code: .tooLarge,
                message: "\(name) is larger than the quota of \(bytes) bytes for \(subject), and is not stored. "
                    + "Raise that one of 'quotas'."
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
                    "The quota of '\(quota.bytes)' bytes for \(subject) holds nothing; choose 1 or more."
                )
            }
            guard let bytes else {
                guard everyOrigin == nil else { throw Self.invalid("There are two quotas for \(subject); choose one.") }
                everyOrigin = quota.bytes
                hasOrigins = true
                continue
            }
            if case .origin = quota.subject { hasOrigins = true }
            guard limits.updateValue(Limit(bytes: quota.bytes, subject: subject), forKey: bytes) == nil else {
                throw Self.invalid("There are two quotas for \(subject); choose one.")
            }
        }
    }

    var isEmpty: Bool { limits.isEmpty && everyOrigin == nil }

    /// The quota that applies to a tag.
    func limit(ofTag bytes: [UInt8]) -> Limit? {
        if let limit = limits[bytes] { return limit }
        guard let everyOrigin, Self.isInternal(bytes) else { return nil }
        return Limit(bytes: everyOrigin, subject: "the origin '\(String(decoding: bytes.dropFirst(), as: UTF8.self))'")
    }

    /// The tag by which a response's origin is counted; `nil` when there is no quota for it.
    ///
    /// - Parameter target: made only where origins have quotas.
    func originTag(of target: @autoclosure () -> TargetURI) -> [UInt8]? {
        guard hasOrigins else { return nil }
        let bytes = Self.originTag(target())
        return limit(ofTag: bytes) == nil ? nil : bytes
    }

    /// The smallest quota that a response counts against.
    func tightest(for draft: ResponseDraft) -> Limit? {
        if isEmpty { return nil }
        var names = draft.tags.map { Array($0.utf8) }
        if let origin = originTag(of: draft.key.components.target) { names.append(origin) }
        return names.compactMap { limit(ofTag: $0) }.min { $0.bytes < $1.bytes }
    }

    /// Whether a tag is one of the store's own, to be shown to nobody.
    static func isInternal(_ bytes: some Collection<UInt8>) -> Bool { bytes.first == originMark }

    /// The name of an origin's tag, whether it has a quota or not.
    static func originTag(_ target: TargetURI) -> [UInt8] {
        [originMark] + Array("\(target.scheme)://\(target.authority)".utf8)
    }

    private static func name(_ quota: CacheManager.Quota) throws -> (bytes: [UInt8]?, subject: String) {
        switch quota.subject {
        case .everyOrigin: return (nil, "every origin")
        case .tag(let name):
            guard (1...ResponseDraft.maximumTagLength).contains(name.utf8.count) else {
                throw invalid(
                    "A quota's tag has 1 to \(ResponseDraft.maximumTagLength) bytes; '\(name.prefix(64))' has \(name.utf8.count)."
                )
            }
            return (Array(name.utf8), "the tag '\(name)'")
        case .origin(let origin):
            guard let target = try? TargetURI(origin), target.path == "/", target.query == nil else {
                throw invalid(
                    "'\(origin)' is no origin. Give scheme, host and perhaps a port: 'https://a.example:8443'."
                )
            }
            return (originTag(target), "the origin '\(target.scheme)://\(target.authority)'")
        }
    }

    private static func invalid(_ message: String) -> StoreError {
        StoreError(code: .invalidConfiguration, message: message + " See 'quotas'.")
    }
}
