/// A parsed ``URLPattern``.
package struct CompiledPattern: Sendable, Hashable {
    package enum Port: Sendable, Hashable {
        case any
        case number(UInt16)

        package func covers(_ other: Port) -> Bool { self == .any || self == other }
    }

    /// The ports that match http targets; `nil` if no http target matches.
    package let http: Port?
    /// The ports that match https targets; `nil` if no https target matches.
    package let https: Port?
    package let host: Glob
    package let path: Glob
    /// The pattern for the query. `nil` matches any query, or none.
    package let query: Glob?

    /// Whether the pattern matches only some paths.
    var hasPath: Bool { !path.covers(Self.everything.path) }

    /// Returns whether the pattern matches a target, ignoring the query.
    func matchesBase(_ target: TargetParts) -> Bool {
        guard let port = target.isHTTPS ? https : http, port.covers(.number(target.port)) else { return false }
        return host.matches(target.host) && path.matches(target.path)
    }

    func matchesQuery(_ target: TargetParts) -> Bool {
        guard let query else { return true }
        return target.query.map(query.matches) ?? false
    }

    func matches(_ target: TargetParts) -> Bool { matchesBase(target) && matchesQuery(target) }

    /// Returns whether the pattern matches every target that another pattern matches. Returns
    /// `false` if this cannot be decided.
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
