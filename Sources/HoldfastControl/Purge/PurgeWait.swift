import HTTPCache
package import HTTPCacheOperations

/// The time that a client waits for a purge to reach other nodes.
package enum PurgeWait {
    /// The maximum wait.
    package static let longest = Duration.seconds(60)

    /// Returns the time limit for a purge without its own limit. `everywhere` takes longer, because
    /// nodes report their progress only once a second.
    package static func limit(for level: PurgeLevel) -> Duration {
        level == .everywhere ? .seconds(5) : .seconds(1)
    }

    /// Returns the level with a name.
    ///
    /// - Throws: ``ControlProblem``
    static func level(_ text: String) throws(ControlProblem) -> PurgeLevel {
        if let level = PurgeLevel(rawValue: text) { return level }
        let levels = PurgeLevel.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        throw ControlProblem(
            .invalidRequest,
            "'wait' must be one of \(levels), not '\(ControlProblem.shown(text))'.",
            field: "wait",
            value: text
        )
    }

    /// Checks the text of a duration.
    ///
    /// - Throws: ``ControlProblem``
    package static func check(_ text: String) throws(ControlProblem) { _ = try limit(text) }

    /// Parses a duration: `5s`, `500ms`, `1m`.
    ///
    /// - Throws: ``ControlProblem``
    static func limit(_ text: String) throws(ControlProblem) -> Duration {
        let limit =
            text.hasSuffix("ms")
            ? Int64(text.dropLast(2)).flatMap { $0 > 0 ? Duration.milliseconds($0) : nil } : EndTime.duration(text)
        if let limit, limit <= longest { return limit }
        throw ControlProblem(
            .invalidRequest,
            "'within' must be a time of at most 1m, such as 500ms or 5s, not '\(ControlProblem.shown(text))'.",
            field: "within",
            value: text
        )
    }
}
