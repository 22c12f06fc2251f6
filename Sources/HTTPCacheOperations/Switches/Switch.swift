package import HTTPCache
package import HTTPCacheSemantics

/// A change to a part of a running cache that an operator made until a stated end: a stricter mode
/// for an origin or a route, or the drain of a server.
package struct Switch: Sendable, Hashable, Codable {
    /// The part of the cache that is switched.
    package enum Subject: Sendable, Hashable, Codable {
        /// All requests to an origin, such as `https://a.example`.
        case origin(url: String)
        /// All requests that a route may make. Other routes may make some of them too.
        case route(name: String)
        /// New requests to one of an origin's servers.
        case server(name: String, origin: String)
    }

    /// The part of the cache that is switched.
    package var subject: Subject
    /// The mode of an origin or a route; `nil` for a server, which is drained.
    package var mode: OfflineMode?
    /// The first instant at which the switch has no effect.
    package var until: Timestamp
    /// When the switch was set.
    package var since: Timestamp
    /// The reason that the switch was set, for other operators.
    package var reason: String?
    /// The client that set the switch, such as `uid 1000`.
    package var client: String

    /// Creates a switch.
    package init(
        _ subject: Subject,
        mode: OfflineMode? = nil,
        until: Timestamp,
        since: Timestamp,
        reason: String? = nil,
        client: String
    ) {
        self.subject = subject
        self.mode = mode
        self.until = until
        self.since = since
        self.reason = reason
        self.client = client
    }

    /// A sentence about a switch whose subject the configuration does not have.
    package var withoutEffect: String {
        "The \(mode == nil ? "drain" : "mode") of \(subject) has no effect: \(subject.absence)."
    }

    /// Returns whether the switch has ended.
    package func isOver(at now: Timestamp) -> Bool { now >= until }
}

extension Switch.Subject: CustomStringConvertible {
    /// The subject in logs and errors: `origin 'https://a.example'`.
    package var description: String {
        switch self {
        case .origin(let url): "origin '\(url)'"
        case .route(let name): "route '\(name)'"
        case .server(let name, let origin): "server '\(name)' of '\(origin)'"
        }
    }
    /// Why a switch of this subject has no effect if the configuration does not have the subject.
    package var absence: String {
        switch self {
        case .origin: "no route leads to this origin"
        case .route: "no route has this name"
        case .server: "the origin has no such server"
        }
    }
}
