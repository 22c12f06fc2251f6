import HTTPCacheOperations
import HTTPCacheSemantics

/// A request to record a job in a running gateway.
package struct RecordingRequest: Sendable, Hashable, Encodable {
    /// The job's name.
    package var name: String
    /// The time when the recording ends, as RFC 3339 text.
    package var until: String?
    /// The length of the recording, such as `1h`.
    package var `for`: String?
    /// The maximum number of requests.
    package var requests: Int?
    /// The maximum length of the job's file, in bytes.
    package var bytes: Int?
    /// Whether a job with the same name is replaced.
    package var replace = false
    /// Whether POST requests are recorded, by their content.
    package var posts = false
    /// Whether the job is not kept if the recording's time is over.
    package var discardAtEnd = false
    /// The names of parameters that are credentials.
    package var secret: [String] = []
    /// The names of parameters that are no secrets, although they look like some.
    package var `public`: [String] = []
    /// The name of the program whose requests are recorded.
    package var command: String?
    /// A note for the log and for other operators.
    package var reason: String?
    /// The path of the configuration file that the client expects the gateway to use.
    package var file: String?
    /// The origin that the client expects the gateway to have.
    package var origin: String?

    /// The maximum length of the name of a program, in bytes.
    private static let commandLength = 128

    /// Creates a request. The values are checked when the recording begins.
    package init(_ name: String) { self.name = name }

    /// Reads a request from JSON. Unknown members are rejected.
    ///
    /// - Throws: ``ControlProblem``
    init(json: [UInt8]) throws(ControlProblem) {
        var members = try JSONMembers(json: json, example: #"{"name": "deps", "for": "1h"}"#)
        guard let name = try members.text("name") else {
            throw ControlProblem(.invalidRequest, "'name' is missing. Set the name of the job.", field: "name")
        }
        self.name = name
        until = try members.text("until")
        self.for = try members.text("for")
        requests = try members.number("requests", 1...JobFile.maximumRequests)
        bytes = try members.number("bytes", 1...JobFile.maximumLength)
        replace = try members.flag("replace")
        posts = try members.flag("posts")
        discardAtEnd = try members.flag("discardAtEnd")
        secret = try members.texts("secret")
        self.public = try members.texts("public")
        command = try members.text("command")
        reason = try members.reason()
        file = try members.text("file")
        origin = try members.text("origin")
        try members.end(
            known: [
                "bytes", "command", "discardAtEnd", "file", "for", "name", "origin", "posts", "public", "reason",
                "replace", "requests", "secret", "until",
            ]
        )
    }

    /// Checks the values, and returns the requested recording.
    ///
    /// - Throws: ``ControlProblem``
    func plan(at now: Timestamp, by client: String) throws(ControlProblem) -> RecordingPlan {
        let requested = try RequestedEnd(until: until, for: self.for).instant(at: now)
        let end = requested ?? now.adding(RecordingPlan.usual)
        guard end <= now.adding(RecordingPlan.longest) else {
            let hours = Int(clamping: RecordingPlan.longest.components.seconds / 3600)
            throw ControlProblem(
                .invalidRequest,
                "A recording lasts at most \(hours) hours. Set an earlier end.",
                field: until == nil ? "for" : "until",
                value: until ?? self.for,
                limit: hours
            )
        }
        var plan = RecordingPlan(try Self.jobName(name), since: now, until: end, client: client)
        plan.command = try checkedCommand()
        plan.replaces = replace
        plan.keysPosts = posts
        plan.secretParameters = try Self.parameters("secret", secret)
        plan.publicParameters = try Self.parameters("public", self.public)
        plan.limits.requests = requests ?? plan.limits.requests
        plan.limits.length = bytes ?? plan.limits.length
        plan.keepsAtEnd = !discardAtEnd
        plan.reason = reason
        return plan
    }

    /// Returns the name of a job in a request.
    ///
    /// - Throws: ``ControlProblem``
    static func jobName(_ text: String) throws(ControlProblem) -> JobName {
        if let name = JobName(text) { return name }
        throw ControlProblem(
            .invalidRequest,
            "'\(ControlProblem.shown(text))' is not a valid job name. Use up to 64 letters, digits, '-', '_' and '.'.",
            field: "name",
            value: text
        )
    }

    private func checkedCommand() throws(ControlProblem) -> String {
        let command = command ?? ""
        guard command.utf8.count <= Self.commandLength, command.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ControlProblem(
                .invalidRequest,
                "'command' must be the name of a program, in one line of at most \(Self.commandLength) bytes.",
                field: "command",
                value: command,
                limit: Self.commandLength
            )
        }
        return command
    }

    private static func parameters(_ member: String, _ names: [String]) throws(ControlProblem) -> Set<String> {
        let limit = JobFile.Header.maximumNames
        guard names.count <= limit, names.allSatisfy(JobFile.Header.isParameterName) else {
            throw ControlProblem(
                .invalidRequest,
                "'\(member)' accepts at most \(limit) parameter names, in ASCII.",
                field: member,
                limit: limit
            )
        }
        return Set(names)
    }
}
