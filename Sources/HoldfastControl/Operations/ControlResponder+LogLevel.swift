import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Hummingbird
import Logging

extension ControlResponder {
    /// The operations on the log level.
    static let logLevel: [Operation] = [
        Operation(path: "/v1/log-level", method: .get, scope: .read) { responder, request, _ in
            try QueryMembers.none(in: request)
            return try Self.response(.ok, LogLevelReport(responder.operations.logLevels))
        },
        Operation(path: "/v1/log-level", method: .put, scope: .operate) { try await $0.setLogLevel($1, $2) },
    ]

    /// Handles `PUT /v1/log-level`.
    private func setLogLevel(_ request: Request, _ context: ControlContext) async throws -> Response {
        let levels = operations.logLevels
        let asked = try LogLevelRequest(json: try await Self.content(of: request))
        let temporary = try asked.temporary(own: levels.own, at: clock.now(), by: context.client.name)
        levels.set(temporary)
        var metadata: Logger.Metadata = [
            "log.level": "\(levels.level)", "control.client": "\(context.client.name)",
        ]
        metadata["log.until"] = temporary.map { "\(EndTime.text($0.until))" }
        metadata["log.reason"] = asked.reason.map { "\($0)" }
        logger.notice("Log level set", metadata: metadata)
        return try Self.response(.ok, LogLevelReport(levels))
    }
}

/// A gateway's log level, as returned by the control plane.
struct LogLevelReport: Encodable {
    /// The level in effect.
    var level: Logger.Level
    /// The gateway's own level, which takes effect again at ``until``.
    var own: Logger.Level
    var until: String?
    var since: String?
    var reason: String?
    var by: String?

    init(_ levels: LogLevels) {
        own = levels.own
        let temporary = levels.temporary
        level = temporary?.level ?? own
        until = temporary.map { EndTime.text($0.until) }
        since = temporary.map { EndTime.text($0.since) }
        reason = temporary?.reason
        by = temporary?.client
    }
}

/// A change of the log level: temporarily to another level, or back to the gateway's own.
struct LogLevelRequest {
    var level: Logger.Level
    var end: RequestedEnd
    var reason: String?

    /// Reads a change from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        var members = try JSONMembers(json: json, example: #"{"level": "debug", "for": "15m"}"#)
        let known = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        guard let level = try members.text("level") else {
            throw ControlProblem(.invalidRequest, "'level' is missing. Use one of \(known).", field: "level")
        }
        guard let named = Logger.Level(rawValue: level) else {
            throw ControlProblem(
                .invalidRequest,
                "'level' must be one of \(known), not '\(ControlProblem.shown(level))'.",
                field: "level",
                value: level
            )
        }
        self.level = named
        end = RequestedEnd(until: try members.text("until"), for: try members.text("for"))
        reason = try members.reason()
        try members.end(known: ["for", "level", "reason", "until"])
    }

    /// Checks the values. Returns the requested temporary level, or `nil` if the client requests
    /// the gateway's own level.
    ///
    /// - Throws: ``ControlProblem``
    func temporary(own: Logger.Level, at now: Timestamp, by client: String) throws(ControlProblem)
        -> LogLevels.Temporary?
    {
        guard let until = try end.instant(at: now) else {
            // If operators forgot a verbose log level, it could fill a disk.
            guard level == own else {
                throw ControlProblem(
                    .invalidRequest,
                    "'\(level)' needs an end, because the configured level is '\(own)'. "
                        + "Set 'until' (2026-11-25T14:00:00Z) or 'for' (15m).",
                    field: "until"
                )
            }
            return nil
        }
        return LogLevels.Temporary(level, until: until, since: now, reason: reason, client: client)
    }
}
