/// A finding about the engine of a fleet, for an operator.
package struct EngineFinding: Sendable, Hashable {
    /// How bad it is.
    package enum Level: String, Sendable, Hashable, CaseIterable {
        case ok
        /// The fleet works, and less is promised than could be.
        case warning
        /// The fleet does not work.
        case error
    }

    package var level: Level
    /// A word for the part of the engine, such as `memory`.
    package var subject: String
    /// The server that it is about; `nil` if none could be reached.
    package var server: String?
    /// One sentence or two.
    package var message: String
    /// The next step of the operator; `nil` if there is none.
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
