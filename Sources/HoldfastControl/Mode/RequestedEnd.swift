import HTTPCacheSemantics

/// The end that a client names for what it sets: an instant, a length, or none.
struct RequestedEnd: Sendable, Hashable {
    /// By RFC 3339.
    var until: String?
    /// `2h`
    var `for`: String?

    /// The end, if one is named.
    ///
    /// - Throws: ``ControlProblem``
    func instant(at now: Timestamp) throws(ControlProblem) -> Timestamp? {
        switch (until, self.for) {
        case (nil, nil): return nil
        case (.some, .some(let length)):
            throw ControlProblem(
                .invalidRequest,
                "'until' and 'for' both name an end. Name one of them.",
                field: "for",
                value: length
            )
        case (let until?, nil): return try Self.checked(until, EndTime.instant(until), at: now)
        case (nil, let length?):
            guard let duration = EndTime.duration(length) else {
                throw ControlProblem(
                    .invalidRequest,
                    "'for' is '\(ControlProblem.shown(length))', and a number with s, m, h or d is expected: 90s, 30m, 2h, 7d.",
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
                "'until' is '\(ControlProblem.shown(text))', and an instant by RFC 3339 is expected: 2026-11-25T14:00:00Z.",
                field: "until",
                value: text
            )
        }
        guard end > now else {
            throw ControlProblem(
                .invalidRequest,
                "'until' is '\(ControlProblem.shown(text))', which is over: the gateway's clock shows \(EndTime.text(now)).",
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
            "'\(field)' is '\(ControlProblem.shown(value))'; the limit is \(days) days. Name an earlier end, and set it again then.",
            field: field,
            value: value,
            limit: days
        )
    }
}
