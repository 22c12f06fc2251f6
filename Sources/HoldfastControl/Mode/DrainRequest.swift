import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics

/// The drain of one of an origin's servers.
package struct DrainRequest: Sendable, Hashable, Encodable {
    /// The origin, such as `https://a.example`.
    package var origin: String
    /// The server's address or URL, as configured.
    package var server: String
    /// The time when the drain ends, as RFC 3339 text.
    package var until: String?
    /// The length of time that the drain lasts, such as `30m`.
    package var `for`: String?
    /// A note for the log and for other operators.
    package var reason: String?

    /// Creates a drain. The values are checked when the drain is performed.
    package init(
        _ server: String,
        of origin: String,
        until: String? = nil,
        for length: String? = nil,
        reason: String? = nil
    ) {
        self.server = server
        self.origin = origin
        self.until = until
        self.for = length
        self.reason = reason
    }

    /// Reads a drain from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        let example = #"{"origin": "https://a.example", "server": "10.0.0.7:443", "for": "30m"}"#
        var members = try JSONMembers(json: json, example: example)
        origin = try Self.required("origin", try members.text("origin"))
        server = try Self.required("server", try members.text("server"))
        until = try members.text("until")
        self.for = try members.text("for")
        reason = try members.reason()
        try members.end(known: ["for", "origin", "reason", "server", "until"])
    }

    static func required(_ name: String, _ value: String?) throws(ControlProblem) -> String {
        if let value { return value }
        throw ControlProblem(
            .invalidRequest,
            "'\(name)' is missing. 'holdfast origins' lists the origins and their servers.",
            field: name
        )
    }

    /// Checks the values, and returns the requested switch.
    ///
    /// - Throws: ``ControlProblem``
    func drain(
        of subject: Switch.Subject,
        at now: Timestamp,
        by client: String
    ) throws(ControlProblem) -> Switch {
        guard let end = try RequestedEnd(until: until, for: self.for).instant(at: now) else {
            // If operators forgot the drain, the origin would have one server less for good.
            throw ControlProblem(
                .invalidRequest,
                "A drain needs an end. Set 'until' (2026-11-25T14:00:00Z) or 'for' (30m). "
                    + "For a permanent change, remove the server from the configuration file.",
                field: "until"
            )
        }
        return Switch(subject, until: end, since: now, reason: reason, client: client)
    }
}
