import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// A temporary extension of the staleness limit while origins fail.
package struct StalenessRequest: Sendable, Hashable, Encodable {
    /// The minimum staleness limit of every response, such as `2d`.
    package var staleness: String
    /// The time when the extension ends, as RFC 3339 text.
    package var until: String?
    /// The length of the extension, such as `2h`.
    package var `for`: String?
    /// A note for the log and for other operators.
    package var reason: String?

    /// Creates an extension. The values are checked when the extension is performed.
    package init(_ staleness: String, until: String? = nil, for length: String? = nil, reason: String? = nil) {
        self.staleness = staleness
        self.until = until
        self.for = length
        self.reason = reason
    }

    /// Reads an extension from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        var members = try JSONMembers(json: json, example: #"{"staleness": "2d", "for": "2h"}"#)
        guard let staleness = try members.text("staleness") else {
            throw ControlProblem(
                .invalidRequest,
                "'staleness' is missing. Set a number with s, m, h or d, such as 12h or 2d.",
                field: "staleness"
            )
        }
        self.staleness = staleness
        until = try members.text("until")
        self.for = try members.text("for")
        reason = try members.reason()
        try members.end(known: ["for", "reason", "staleness", "until"])
    }

    /// Checks the values, and returns the requested extension.
    ///
    /// - Throws: ``ControlProblem``
    func temporaryStaleness(at now: Timestamp, by client: String) throws(ControlProblem) -> TemporaryStaleness {
        guard let length = EndTime.duration(staleness) else {
            throw ControlProblem(
                .invalidRequest,
                "'staleness' must be a number above 0 with s, m, h or d, such as 12h or 2d, not '\(ControlProblem.shown(staleness))'.",
                field: "staleness",
                value: staleness
            )
        }
        let days = Int(StalenessExtension.longest / 86_400)
        guard length <= .seconds(StalenessExtension.longest) else {
            throw ControlProblem(
                .invalidRequest,
                "'staleness' is '\(ControlProblem.shown(staleness))'; the limit is \(days) days. Set a shorter time.",
                field: "staleness",
                value: staleness,
                limit: days
            )
        }
        guard let end = try RequestedEnd(until: until, for: self.for).instant(at: now) else {
            // If operators forgot the extension, it would outlast the outage.
            throw ControlProblem(
                .invalidRequest,
                "A staleness extension needs an end. Set 'until' (2026-11-25T14:00:00Z) or 'for' (2h). "
                    + "For a permanent change, edit the configuration file ('stale.offline', 'stale.unreachable', 'stale.on-error').",
                field: "until"
            )
        }
        return TemporaryStaleness(
            StalenessExtension(seconds: length.components.seconds),
            until: end,
            since: now,
            reason: reason,
            client: client
        )
    }
}
