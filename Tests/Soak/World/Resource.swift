/// A resource of the harness's origins: its path determines its behavior.
struct Resource: Hashable, Sendable {
    enum Kind: String, CaseIterable, Sendable {
        /// Changes now and then, with validators, fresh for 2 s; some may be used while they are
        /// validated.
        case page
        /// Fresh for an hour. Changes by POST, PUT and DELETE alone.
        case ware
        /// Without validators, fresh for an hour; changes while a client uses it.
        case plain
        /// One representation for each principal, selected by credentials or a cookie.
        case mine
        /// One representation for each language. `Vary: Accept-Language`
        case tongue
        /// 103 (Early Hints) comes before the response. Each target is requested once.
        case early
        /// Each target is requested once.
        case once
        /// Receives content, and describes it. Each target is requested once.
        case upload
        /// 200 or 404, by its version.
        case gone
        /// 200 or 503, by its version.
        case flaky
        /// Comes in pieces, with pauses.
        case slow
        /// Has bytes behind the response. The second part of the path selects how they come. Each
        /// response is a version.
        case lie
        /// The response breaks off, or its connection does. Each response is a version.
        case cut
    }

    let target: String
    let kind: Kind
    /// The path's second part.
    let name: String

    /// - Returns: `nil` if no origin has such a resource.
    init?(_ target: String) {
        let parts = target.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[0].isEmpty, let kind = Kind(rawValue: String(parts[1])) else { return nil }
        self.target = target
        self.kind = kind
        name = String(parts[2])
    }

    /// Whether the honest origin has it, which owes each request a response.
    var isHonest: Bool { kind != .lie && kind != .cut }

    /// Whether each target is requested once, so that it is never served from the store.
    var isUnique: Bool { kind == .early || kind == .once || kind == .upload }

    /// Whether each response is a new version.
    var changesAlways: Bool { kind == .lie || kind == .cut }

    var hasValidators: Bool { kind != .plain }

    /// Seconds; `nil` if the response does not state it.
    func lifetime(status: Int) -> Int? {
        switch kind {
        case .page, .mine, .tongue, .gone: 2
        case .ware, .plain: 3_600
        case .early, .once, .upload, .slow: 60
        case .flaky: status == 200 ? 1 : nil
        case .lie, .cut: 60
        }
    }

    /// The value of `Cache-Control`.
    func cacheControl(status: Int) -> String? {
        guard let lifetime = lifetime(status: status) else { return nil }
        switch kind {
        case .page where name.hasSuffix("0"): return "max-age=\(lifetime), stale-while-revalidate=5"
        case .flaky: return "max-age=\(lifetime), stale-if-error=60"
        case .early where name.hasSuffix("1"): return "no-store"
        default: return "max-age=\(lifetime)"
        }
    }
}
