/// Checks the reason that a client states for a change. The log and other operators see it.
enum ReasonText {
    /// The maximum length of a reason, in bytes.
    static let maximumBytes = 1000

    /// Checks a reason.
    ///
    /// - Throws: ``ControlProblem`` if the reason is too long, or contains a control character such
    ///   as a line break.
    static func check(_ reason: String) throws(ControlProblem) {
        guard reason.utf8.count <= maximumBytes else {
            throw ControlProblem(
                .invalidRequest,
                "'reason' has \(reason.utf8.count) bytes; the limit is \(maximumBytes). Shorten it.",
                field: "reason",
                value: reason,
                limit: maximumBytes
            )
        }
        guard !reason.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw ControlProblem(
                .invalidRequest,
                "'reason' has a control character. Use one line of text.",
                field: "reason",
                value: reason
            )
        }
    }
}

extension JSONMembers {
    /// Reads and checks the member `reason`. Returns `nil` if it is missing.
    mutating func reason() throws(ControlProblem) -> String? {
        guard let reason = try text("reason") else { return nil }
        try ReasonText.check(reason)
        return reason
    }
}
