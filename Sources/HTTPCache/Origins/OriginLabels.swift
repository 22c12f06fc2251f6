import Synchronization

/// The values of the label `origin`: the names of the first ``limit`` origins. All other origins
/// share ``other``.
///
/// The names of configured origins are URLs such as `https://a.example`. A gateway may pass its
/// clients' host names on to an origin. A client's host name must never become a label, so the
/// configuration maps these names to the origin, and unknown names become ``other``. A label never
/// changes once it is assigned, so that a series keeps its meaning.
package final class OriginLabels: Sendable {
    /// The maximum number of origins that have their own label.
    package static let limit = 64
    package static let other = "other"

    private struct State {
        /// The origins that have their own label.
        var names: Set<String> = []
        /// Names that are not configured origins, mapped to the origin that they lead to.
        var aliases: [String: String] = [:]
        /// The origin for all unknown names.
        var standard: String?
        /// Whether unknown names get a label.
        var isOpen: Bool

        mutating func name(_ origin: String) -> String {
            if names.contains(origin) { return origin }
            guard names.count < OriginLabels.limit else { return OriginLabels.other }
            names.insert(origin)
            return origin
        }
    }

    private let state: Mutex<State>

    /// Creates labels for the first origins that appear, for programs that choose their origins
    /// themselves.
    package init() { state = Mutex(State(isOpen: true)) }

    /// Creates labels only for the origins of a configuration.
    ///
    /// - Parameters:
    ///   - aliases: other names, each mapped to its origin.
    ///   - standard: the origin for all other names.
    package init(configured origins: [String], aliases: [String: String] = [:], standard: String? = nil) {
        state = Mutex(State(isOpen: false))
        configure(origins, aliases: aliases, standard: standard)
    }

    /// Adds the origins of a changed configuration.
    package func configure(_ origins: [String], aliases: [String: String] = [:], standard: String? = nil) {
        state.withLock { state in
            for origin in origins { _ = state.name(origin) }
            state.aliases = aliases
            state.standard = standard
        }
    }

    /// Returns the label for an origin such as `https://a.example`.
    package func label(of origin: String) -> String {
        state.withLock { state in
            if state.names.contains(origin) { return origin }
            if let known = state.aliases[origin] ?? state.standard {
                return state.names.contains(known) ? known : Self.other
            }
            return state.isOpen ? state.name(origin) : Self.other
        }
    }
}
