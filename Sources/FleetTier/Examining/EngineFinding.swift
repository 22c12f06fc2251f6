/// A finding about the server of a fleet's log, reported to the operator.
package struct EngineFinding: Sendable, Hashable {
    /// The severity.
    package enum Level: String, Sendable, Hashable, CaseIterable {
        case ok
        /// The fleet works, but with weaker guarantees than it could have.
        case warning
        /// The fleet does not work.
        case error
    }

    package var level: Level
    /// The aspect of the server that the finding is about, such as `memory`.
    package var subject: String
    /// The server that the finding is about; `nil` if no server was reachable.
    package var server: String?
    /// The explanation, in one or two sentences.
    package var message: String
    /// The operator's next step; `nil` if there is nothing to do.
    package var remedy: String?

    package init(
        _ level: Level,
        _ subject: String,
        server: String? = nil,
        _ message: String,
        remedy: String? = nil
    ) {
        self.level = level
        self.subject = subject
        self.server = server
        self.message = message
        self.remedy = remedy
    }
}
