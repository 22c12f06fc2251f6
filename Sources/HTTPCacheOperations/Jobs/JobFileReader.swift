import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Reads a job's file in pieces, line by line. Besides the caller's values, it needs the memory of
/// one line.
package struct JobFileReader: Sendable {
    private let file: String
    private var line: [UInt8] = []
    private var length = 0
    /// The number of lines that were read.
    private var count = 0

    /// - Parameter file: the file's name, for messages.
    package init(file: String) { self.file = file }

    /// Reads the next bytes of the file.
    ///
    /// - Parameter take: called with each line.
    /// - Throws: ``JobFile/Refusal``, or an error of `take`.
    package mutating func read(_ bytes: some Sequence<UInt8>, _ take: (JobFile.Line) throws -> Void) throws {
        for byte in bytes {
            length += 1
            guard length <= JobFile.maximumLength else {
                throw JobFile.Refusal(file, "is too large. The limit is \(JobFile.maximumLength) bytes.")
            }
            if byte == UInt8(ascii: "\n") {
                try finishLine(take)
            } else {
                guard line.count < JobFile.maximumLineLength else {
                    throw refusal("is too long. The limit is \(JobFile.maximumLineLength) bytes.", ahead: 1)
                }
                line.append(byte)
            }
        }
    }

    /// Checks that the file is complete. Call it after the last bytes.
    ///
    /// - Throws: ``JobFile/Refusal``
    package func end() throws {
        guard line.isEmpty else { throw refusal("does not end with a line feed: the file is cut short.", ahead: 1) }
        guard count > 0 else { throw JobFile.Refusal(file, "is empty.") }
    }

    private func refusal(_ message: String, ahead: Int = 0) -> JobFile.Refusal {
        JobFile.Refusal(file, line: count + ahead, message)
    }

    private mutating func finishLine(_ take: (JobFile.Line) throws -> Void) throws {
        count += 1
        guard count <= JobFile.maximumRequests + 1 else {
            throw refusal("is one too many. The limit is \(JobFile.maximumRequests) requests.")
        }
        let value: JobFile.Line
        do throws(JobLineMembers.Fault) {
            let members = try JobLineMembers(line)
            value = try count == 1 ? .header(JobFile.Header(members)) : .entry(JobFile.Entry(members))
        } catch {
            throw refusal(error.message)
        }
        line.removeAll(keepingCapacity: true)
        try take(value)
    }
}

extension JobFile.Header {
    fileprivate init(_ members: JobLineMembers) throws(JobLineMembers.Fault) {
        var members = members
        guard let version = try members.number("holdfast-job") else {
            throw JobLineMembers.Fault("is not the first line of a job: it has no member 'holdfast-job'.")
        }
        guard version == JobFile.version else {
            throw JobLineMembers.Fault("has the version \(version). This program reads version \(JobFile.version).")
        }
        guard let name = try JobName(members.required("name")) else {
            throw JobLineMembers.Fault("has no valid 'name'.")
        }
        guard let partition = try JobPartition(members.required("partition")) else {
            throw JobLineMembers.Fault("has no valid 'partition'.")
        }
        guard let made = try members.number("made") else { throw JobLineMembers.Fault("has no member 'made'.") }
        let command = try members.required("command")
        let passed = try members.counts("passed")
        let (secret, plain) = (try Self.names("secret", &members), try Self.names("public", &members))
        let cookies = try Self.names("cookies", &members)
        let (unread, refused) = (try members.texts("unread"), try members.texts("refused"))
        guard let hosts = UnrecordedHosts(unread: unread, refused: refused) else {
            throw JobLineMembers.Fault(
                "has no valid 'unread' or 'refused'. The limit is \(UnrecordedHosts.limit) hosts."
            )
        }
        self.init(
            name: name,
            made: Timestamp(milliseconds: Int64(clamping: made)),
            command: command,
            partition: partition,
            keysPosts: try members.flag("posts"),
            passed: passed
        )
        (secretParameters, publicParameters, self.cookies) = (secret, plain, cookies)
        unrecordedHosts = hosts
        doubtful = try members.count("doubtful")
        statesHTTPS = try members.flag("https")
        try members.end()
    }

    /// Reads names that are separated by spaces.
    private static func names(
        _ member: String,
        _ members: inout JobLineMembers
    ) throws(JobLineMembers.Fault) -> Set<String> {
        let names = (try members.text(member) ?? "").split(separator: " ").map(String.init)
        guard names.count <= maximumNames, names.allSatisfy(isParameterName) else {
            throw JobLineMembers.Fault("has no valid '\(member)'. The limit is \(maximumNames) names.")
        }
        return Set(names)
    }

    /// The maximum number of names of parameters, and of cookies.
    package static let maximumNames = 64
}

extension JobFile.Entry {
    private static let maximumFields = 64
    private static let longestReason = 64

    fileprivate init(_ members: JobLineMembers) throws(JobLineMembers.Fault) {
        var members = members
        guard let method = HTTPRequest.Method(try members.required("method")) else {
            throw JobLineMembers.Fault("has no valid 'method'.")
        }
        guard let target = try? TargetURI(members.required("url")) else {
            throw JobLineMembers.Fault("has no valid 'url'.")
        }
        var request = JobRequest(method: method, target: target)
        request.fields = try Self.fields(members.texts("fields"))
        if let content = try members.text("content") {
            request.content = try Self.digest(content)
            if let form = try members.text("form") {
                request.form = try Self.form(form, ignoring: members.text("ignored") ?? "")
            }
        }
        if members.has("members") {
            request.members = try Self.outline(members.texts("members"), isCut: members.flag("membersCut"))
        }
        let why = try members.text("why")
        guard why?.utf8.count ?? 0 <= Self.longestReason else {
            throw JobLineMembers.Fault("has a 'why' of more than \(Self.longestReason) bytes.")
        }
        try members.end()
        self.init(request, why: why)
    }

    private static func fields(_ members: [(String, String)]) throws(JobLineMembers.Fault) -> HTTPFields {
        guard members.count <= maximumFields else {
            throw JobLineMembers.Fault("has \(members.count) fields. The limit is \(maximumFields).")
        }
        var fields = HTTPFields()
        for (text, value) in members {
            guard let name = HTTPField.Name(text), HTTPField.isValidValue(value) else {
                throw JobLineMembers.Fault("has a member of 'fields' that is not a field of HTTP.")
            }
            guard !Redaction.isSecretField(name.canonicalName) else {
                throw JobLineMembers.Fault("has the field '\(name.canonicalName)', which is a credential.")
            }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    private static func outline(
        _ members: [(String, String)],
        isCut: Bool
    ) throws(JobLineMembers.Fault) -> JSONOutline {
        guard members.count <= JSONOutline.maximumLeaves else {
            throw JobLineMembers.Fault("has more than \(JSONOutline.maximumLeaves) 'members'.")
        }
        var outline = JSONOutline()
        for (pointer, digest) in members {
            guard outline.append(JSONOutline.Leaf(pointer: pointer, digest: digest)) else {
                throw JobLineMembers.Fault("has a member of 'members' that is not a JSON Pointer with a digest.")
            }
        }
        if isCut { outline.cut() }
        return outline
    }

    private static func form(_ name: String, ignoring text: String) throws(JobLineMembers.Fault) -> ContentForm {
        let paths = text.split(separator: " ").map(String.init)
        guard paths.count <= MemberPaths.limit, paths.allSatisfy({ MemberPaths.isPath($0) }) else {
            throw JobLineMembers.Fault("has no valid 'ignored'. The limit is \(MemberPaths.limit) paths.")
        }
        switch name {
        case "any" where paths.isEmpty: return .any
        case "graphql" where paths.isEmpty: return .graphQL
        case "json": return .json(MemberPaths(paths))
        default: throw JobLineMembers.Fault("has no valid 'form'.")
        }
    }

    /// Reads `sha256:` and 64 hexadecimal digits.
    private static func digest(_ text: String) throws(JobLineMembers.Fault) -> [UInt8] {
        let prefix = "sha256:"
        let digits = text.hasPrefix(prefix) ? Array(text.utf8.dropFirst(prefix.utf8.count)) : []
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count - 1, by: 2) {
            guard let high = digits[index].hexValue, let low = digits[index + 1].hexValue else { break }
            bytes.append(high << 4 | low)
        }
        guard digits.count == 64, bytes.count == 32 else {
            throw JobLineMembers.Fault("has no valid 'content'.")
        }
        return bytes
    }
}
