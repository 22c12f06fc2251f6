/// A ``URLPattern`` that was understood.
struct CompiledPattern: Sendable, Hashable {
    enum Port: Sendable, Hashable {
        case any
        case number(UInt16)

        func covers(_ other: Port) -> Bool { self == .any || self == other }
    }

    /// The ports of http targets that it is about; `nil`: it is about none.
    let http: Port?
    /// The ports of https targets that it is about; `nil`: it is about none.
    let https: Port?
    let host: Glob
    let path: Glob
    /// `nil`: whatever the query is, and without one.
    let query: Glob?

    /// Whether it is about some paths only.
    var hasPath: Bool { !path.covers(Self.everything.path) }

    /// Whether it stands for a target, apart from the query.
    func matchesBase(_ target: TargetParts) -> Bool {
        guard let port = target.isHTTPS ? https : http, port.covers(.number(target.port)) else { return false }
        return host.matches(target.host) && path.matches(target.path)
    }

    func matchesQuery(_ target: TargetParts) -> Bool {
        guard let query else { return true }
        return target.query.map(query.matches) ?? false
    }

    func matches(_ target: TargetParts) -> Bool { matchesBase(target) && matchesQuery(target) }

    /// Whether every target that the other stands for is one that this stands for. `false` where
    /// that cannot be told.
    func covers(_ other: CompiledPattern) -> Bool {
        func portsCover(_ mine: Port?, _ its: Port?) -> Bool {
            guard let its else { return true }
            return mine?.covers(its) ?? false
        }
        guard portsCover(http, other.http), portsCover(https, other.https) else { return false }
        guard host.covers(other.host), path.covers(other.path) else { return false }
        guard let query else { return true }
        return other.query.map(query.covers) ?? false
    }
}
