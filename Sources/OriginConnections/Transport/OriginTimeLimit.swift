import NIOCore

/// A time limit on an origin, for the error when it passes.
struct OriginTimeLimit: Sendable, Hashable {
    /// Who set the limit.
    enum Source: Sendable, Hashable {
        /// A setting, such as `timeouts.hard`.
        case setting(String)
        /// A setting whose time is divided among several servers.
        case share(of: String)
        /// The gateway's own limit, which no setting changes.
        case gateway
    }

    var time: TimeAmount
    var source: Source

    /// The time and the setting: `3 s ('timeouts.hard')`.
    var words: String {
        switch source {
        case .setting(let name): "\(shown) ('\(name)')"
        case .share(let name): "\(shown) (this server's share of '\(name)')"
        case .gateway: shown
        }
    }

    /// The next step.
    var advice: String {
        switch source {
        case .setting(let name), .share(let name): "Check the origin, or raise '\(name)'."
        case .gateway: "Check the origin."
        }
    }

    private var shown: String {
        let milliseconds = time.nanoseconds / 1_000_000
        return milliseconds % 1000 == 0 ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
    }
}
