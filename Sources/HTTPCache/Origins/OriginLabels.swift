import Synchronization

/// The values of the label `origin`: the names of the first ``limit`` origins. All other origins
/// share ``other``.
///
/// The names of configured origins are URLs such as `https://a.example`. If origins are configured,
/// any other name becomes ``other``. A label never changes once it is assigned, so that a series
/// keeps its meaning.
package final class OriginLabels: Sendable {
    /// The maximum number of origins that have their own label.
    package static let limit = 64
    package static let other = "other"

    private struct State {
        /// The origins that have their own label.
        var names: Set<String> = []
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
    package init(configured origins: [String]) {
        state = Mutex(State(isOpen: false))
        configure(origins)
    }

    /// Adds the origins of a changed configuration.
    package func configure(_ origins: [String]) {
        state.withLock { state in
            for origin in origins { _ = state.name(origin) }
        }
    }

    /// Returns the label for an origin such as `https://a.example`.
    package func label(of origin: String) -> String {
        state.withLock { state in
            if state.names.contains(origin) { return origin }
            return state.isOpen ? state.name(origin) : Self.other
        }
    }
}
