import Synchronization

/// The values of the label `origin`: the names of the first ``limit`` origins. All others are
/// ``other``.
///
/// The names of configured origins are `https://a.example`. A gateway may send its clients' own
/// host names to an origin. No name of a client may become a label, so the configuration maps these
/// names to the origin, and unknown names are ``other``. A name that was given stays, so that a
/// series keeps its meaning.
package final class OriginLabels: Sendable {
    /// The most origins with their own names.
    package static let limit = 64
    package static let other = "other"

    private struct State {
        /// Each has a label of its own.
        var names: Set<String> = []
        /// Names that are no origins of the configuration, with the origin to which they lead.
        var aliases: [String: String] = [:]
        /// The origin of all names that are not known.
        var standard: String?
        /// Whether a name that is not known gets a label.
        var isOpen: Bool

        mutating func name(_ origin: String) -> String {
            if names.contains(origin) { return origin }
            guard names.count < OriginLabels.limit else { return OriginLabels.other }
            names.insert(origin)
            return origin
        }
    }

    private let state: Mutex<State>

    /// Names the first origins that come, for programs that choose their origins themselves.
    package init() { state = Mutex(State(isOpen: true)) }

    /// Names the origins of a configuration alone.
    ///
    /// - Parameters:
    ///   - aliases: other names, each with its origin.
    ///   - standard: the origin of all other names.
    package init(configured origins: [String], aliases: [String: String] = [:], standard: String? = nil) {
        state = Mutex(State(isOpen: false))
        configure(origins, aliases: aliases, standard: standard)
    }

    /// Names the origins of a changed configuration too.
    package func configure(_ origins: [String], aliases: [String: String] = [:], standard: String? = nil) {
        state.withLock { state in
            for origin in origins { _ = state.name(origin) }
            state.aliases = aliases
            state.standard = standard
        }
    }

    /// The label of an origin, `https://a.example`.
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
