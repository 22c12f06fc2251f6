import Foundation
public import HTTPCache
import HTTPCacheSemantics

/// A switch of the mode: to another one for a time, or back to the configured one.
public struct ModeRequest: Sendable, Hashable, Encodable {
    /// The mode.
    public var mode: OfflineMode
    /// Its end by RFC 3339.
    public var until: String?
    /// Its length: `2h`.
    public var `for`: String?
    /// A text for the log and for other operators.
    public var reason: String?

    /// A switch. Its values are checked when it is performed.
    public init(_ mode: OfflineMode, until: String? = nil, for length: String? = nil, reason: String? = nil) {
        self.mode = mode
        self.until = until
        self.for = length
        self.reason = reason
    }

    static let members = ["for", "mode", "reason", "until"]

    /// Reads a switch from JSON. Members that are not known are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws {
        var members = try JSONMembers(json: json, example: #"{"mode": "offline", "for": "2h"}"#)
        let known = OfflineMode.allCases.map(\.rawValue).joined(separator: ", ")
        guard let mode = try members.text("mode") else {
            throw ControlProblem(.invalidRequest, "'mode' is missing. Name one of \(known).", field: "mode")
        }
        guard let named = OfflineMode(rawValue: mode) else {
            throw ControlProblem(
                .invalidRequest,
                "'mode' is '\(ControlProblem.shown(mode))', and one of \(known) is expected.",
                field: "mode",
                value: mode
            )
        }
        self.mode = named
        until = try members.text("until")
        self.for = try members.text("for")
        reason = try members.text("reason")
        try members.end(known: Self.members)
        if let reason, let problem = PurgeRequest.problem(ofReason: reason) { throw problem }
    }

    /// The temporary mode that is asked for; `nil` if the configured one is.
    ///
    /// - Throws: ``ControlProblem``
    func temporaryMode(configured: OfflineMode, at now: Timestamp, by client: String) throws -> TemporaryMode? {
        guard let end = try end(at: now) else {
            // An end that is forgotten is how a gateway stays offline after an outage.
            guard mode == configured else {
                throw ControlProblem(
                    .invalidRequest,
                    "'\(mode.rawValue)' needs an end, because the configured mode is '\(configured.rawValue)'. "
                        + "Name 'until' (2026-11-25T14:00:00Z) or 'for' (2h). What must last belongs into the configuration file.",
                    field: "until"
                )
            }
            return nil
        }
        return TemporaryMode(mode, until: end, since: now, reason: reason, client: client)
    }

    private func end(at now: Timestamp) throws -> Timestamp? {
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

    private static func checked(_ text: String, _ end: Timestamp?, at now: Timestamp) throws -> Timestamp {
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
            "'\(field)' is '\(ControlProblem.shown(value))'; the limit is \(days) days. What must last longer belongs into the configuration file.",
            field: field,
            value: value,
            limit: days
        )
    }
}
