import Foundation
package import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// A switch of the mode: temporarily to another mode, or back to the configured mode. It is for the
/// whole gateway, or for one origin or route.
package struct ModeRequest: Sendable, Hashable, Encodable {
    /// The mode to switch to.
    package var mode: OfflineMode
    /// The origin whose mode is switched; `nil` for the whole gateway or a route.
    package var origin: String?
    /// The name of the route whose mode is switched; `nil` for the whole gateway or an origin.
    package var route: String?
    /// The time when the mode ends, as RFC 3339 text.
    package var until: String?
    /// The length of time that the mode lasts, such as `2h`.
    package var `for`: String?
    /// A note for the log and for other operators.
    package var reason: String?

    /// Creates a switch. The values are checked when the switch is performed.
    package init(
        _ mode: OfflineMode,
        origin: String? = nil,
        route: String? = nil,
        until: String? = nil,
        for length: String? = nil,
        reason: String? = nil
    ) {
        self.mode = mode
        self.origin = origin
        self.route = route
        self.until = until
        self.for = length
        self.reason = reason
    }

    static let members = ["for", "mode", "origin", "reason", "route", "until"]

    /// Reads a switch from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws {
        var members = try JSONMembers(json: json, example: #"{"mode": "offline", "for": "2h"}"#)
        let known = OfflineMode.allCases.map(\.rawValue).joined(separator: ", ")
        guard let mode = try members.text("mode") else {
            throw ControlProblem(.invalidRequest, "'mode' is missing. Use one of \(known).", field: "mode")
        }
        guard let named = OfflineMode(rawValue: mode) else {
            throw ControlProblem(
                .invalidRequest,
                "'mode' must be one of \(known), not '\(ControlProblem.shown(mode))'.",
                field: "mode",
                value: mode
            )
        }
        self.mode = named
        origin = try members.text("origin")
        route = try members.text("route")
        until = try members.text("until")
        self.for = try members.text("for")
        reason = try members.reason()
        try members.end(known: Self.members)
    }

    /// Checks the values. Returns the requested temporary mode, or `nil` if the client requests the
    /// configured mode.
    ///
    /// - Throws: ``ControlProblem``
    func temporaryMode(configured: OfflineMode, at now: Timestamp, by client: String) throws -> TemporaryMode? {
        guard let end = try RequestedEnd(until: until, for: self.for).instant(at: now) else {
            // If operators forgot to switch back, the gateway could stay offline after an outage.
            guard mode == configured else {
                throw ControlProblem(
                    .invalidRequest,
                    "'\(mode.rawValue)' needs an end, because the configured mode is '\(configured.rawValue)'. "
                        + "Set 'until' (2026-11-25T14:00:00Z) or 'for' (2h). For a permanent change, edit the configuration file.",
                    field: "until"
                )
            }
            return nil
        }
        return TemporaryMode(mode, until: end, since: now, reason: reason, client: client)
    }
}
