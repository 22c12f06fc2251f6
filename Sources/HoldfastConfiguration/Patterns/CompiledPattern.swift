/// A ``URLPattern`` after parsing.
struct CompiledPattern: Sendable, Hashable {
    enum Port: Sendable, Hashable {
        case any
        case number(UInt16)

        func covers(_ other: Port) -> Bool { self == .any || self == other }
    }

    /// The ports of http targets that it matches; `nil`: it matches no http target.
    let http: Port?
    /// The ports of https targets that it matches; `nil`: it matches no https target.
    let https: Port?
    let host: Glob
    let path: Glob
    /// The pattern of the query; `nil`: any query, or none.
    let query: Glob?

    /// Whether it matches some paths only.
    var hasPath: Bool { !path.covers(Self.everything.path) }

    /// Whether it matches a target, apart from the query.
    func matchesBase(_ target: TargetParts) -> Bool {
        guard let port = target.isHTTPS ? https : http, port.covers(.number(target.port)) else { return false }
        return host.matches(target.host) && path.matches(target.path)
    }

    func matchesQuery(_ target: TargetParts) -> Bool {
        guard let query else { return true }
        return target.query.map(query.matches) ?? false
    }

    func matches(_ target: TargetParts) -> Bool { matchesBase(target) && matchesQuery(target) }

    /// Whether it matches every target that another pattern matches. `false` if that cannot be
    /// decided.
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
