import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension JobFile.Header {
    /// The line with its end.
    package var line: [UInt8] {
        var writer = JobLineWriter()
        writer.member("holdfast-job", number: JobFile.version)
        writer.member("name", name.description)
        writer.member("made", number: Int(clamping: made.milliseconds))
        writer.member("command", command)
        writer.member("partition", partition.description)
        if keysPosts { writer.member("posts", flag: true) }
        if statesHTTPS { writer.member("https", flag: true) }
        if !secretParameters.isEmpty { writer.member("secret", secretParameters.sorted().joined(separator: " ")) }
        if !publicParameters.isEmpty { writer.member("public", publicParameters.sorted().joined(separator: " ")) }
        if doubtful > 0 { writer.member("doubtful", number: doubtful) }
        if !cookies.isEmpty { writer.member("cookies", cookies.sorted().joined(separator: " ")) }
        if !passed.isEmpty {
            writer.object("passed") { writer in
                for (method, count) in passed.sorted(by: { $0.key < $1.key }) { writer.member(method, number: count) }
            }
        }
        for (member, hosts) in [("unread", unrecordedHosts.unread), ("refused", unrecordedHosts.refused)]
        where !hosts.isEmpty {
            writer.object(member) { writer in
                for (host, reason) in hosts.sorted(by: { $0.key < $1.key }) { writer.member(host, reason) }
            }
        }
        return writer.end()
    }
}

extension JobFile.Entry {
    /// The line with its end.
    package var line: [UInt8] {
        var writer = JobLineWriter()
        writer.member("method", request.method.rawValue)
        writer.member("url", request.target.uri)
        if !request.fields.isEmpty {
            writer.object("fields") { writer in
                for field in request.fields { writer.member(field.name.canonicalName, field.value) }
            }
        }
        if let content = request.content { writer.member("content", "sha256:\(content.hexadecimal)") }
        if let form = request.form { writer.form(form) }
        if let members = request.members {
            writer.object("members") { writer in
                for leaf in members.leaves { writer.member(leaf.pointer, leaf.digest) }
            }
            if members.isCut { writer.member("membersCut", flag: true) }
        }
        if let why { writer.member("why", why) }
        return writer.end()
    }
}

/// Writes a JSON object in a line.
private struct JobLineWriter {
    private var bytes = Array("{".utf8)
    private var isFirst = true

    mutating func member(_ name: String, _ value: String) {
        begin(name)
        text(value)
    }

    mutating func member(_ name: String, number: Int) {
        begin(name)
        bytes += String(number).utf8
    }

    mutating func member(_ name: String, flag: Bool) {
        begin(name)
        bytes += String(flag).utf8
    }

    mutating func object(_ name: String, _ members: (inout JobLineWriter) -> Void) {
        begin(name)
        bytes.append(UInt8(ascii: "{"))
        isFirst = true
        members(&self)
        bytes.append(UInt8(ascii: "}"))
        isFirst = false
    }

    /// The value of `store.content`, and the paths of `ignore.members`, which have no spaces.
    mutating func form(_ form: ContentForm) {
        switch form {
        case .any: member("form", "any")
        case .graphQL: member("form", "graphql")
        case .json(let ignored):
            member("form", "json")
            if !ignored.isEmpty { member("ignored", ignored.paths.joined(separator: " ")) }
        }
    }

    consuming func end() -> [UInt8] { bytes + Array("}\n".utf8) }

    private mutating func begin(_ name: String) {
        if !isFirst { bytes.append(UInt8(ascii: ",")) }
        isFirst = false
        text(name)
        bytes.append(UInt8(ascii: ":"))
    }

    /// RFC 8259 §7
    private mutating func text(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        if text.utf8.contains(where: Self.isEscaped) {
            for byte in text.utf8 { append(byte) }
        } else {
            bytes += text.utf8
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(_ byte: UInt8) {
        guard Self.isEscaped(byte) else { return bytes.append(byte) }
        bytes += byte < 0x20 ? Array("\\u00".utf8) + Array([byte].hexadecimal.utf8) : [UInt8(ascii: "\\"), byte]
    }
}
