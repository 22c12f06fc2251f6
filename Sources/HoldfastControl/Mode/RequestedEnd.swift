import HTTPCacheSemantics

/// The requested end of a temporary setting: a time, a length of time, or neither.
struct RequestedEnd: Sendable, Hashable {
    /// The end, as RFC 3339 text.
    var until: String?
    /// The length of time until the end, such as `2h`.
    var `for`: String?

    /// Returns the time of the end, or `nil` if the client stated none.
    ///
    /// - Throws: ``ControlProblem``
    func instant(at now: Timestamp) throws(ControlProblem) -> Timestamp? {
        switch (until, self.for) {
        case (nil, nil): return nil
        case (.some, .some(let length)):
            throw ControlProblem(
                .invalidRequest,
                "'until' and 'for' both set the end. Use one of them.",
                field: "for",
                value: length
            )
        case (let until?, nil): return try Self.checked(until, EndTime.instant(until), at: now)
        case (nil, let length?):
            guard let duration = EndTime.duration(length) else {
                throw ControlProblem(
                    .invalidRequest,
                    "'for' must be a number above 0 with s, m, h or d, such as 90s, 30m, 2h or 7d, not '\(ControlProblem.shown(length))'.",
                    field: "for",
                    value: length
                )
            }
            guard duration <= EndTime.longest else { throw Self.tooLong("for", length) }
            return now.adding(duration)
        }
    }

    private static func checked(
        _ text: String,
        _ end: Timestamp?,
        at now: Timestamp
    ) throws(ControlProblem) -> Timestamp {
        guard let end else {
            throw ControlProblem(
                .invalidRequest,
                "'until' must be an RFC 3339 instant that exists, such as 2026-11-25T14:00:00Z, not '\(ControlProblem.shown(text))'.",
                field: "until",
                value: text
            )
        }
        guard end > now else {
            throw ControlProblem(
                .invalidRequest,
                "'until' is '\(ControlProblem.shown(text))', which is in the past: the gateway's clock shows \(EndTime.text(now)).",
                field: "until",
                value: text
            )
        }
        guard end <= now.adding(EndTime.longest) else { throw tooLong("until", text) }
        return end
    }

    private static func tooLong(_ field: String, _ value: String) -> ControlProblem {
        let days = Int(EndTime.longest.components.seconds / 86_400)
        return ControlProblem(
            .invalidRequest,
            "'\(field)' is '\(ControlProblem.shown(value))'; the limit is \(days) days. Set an earlier end, and extend it later.",
            field: field,
            value: value,
            limit: days
        )
    }
}
