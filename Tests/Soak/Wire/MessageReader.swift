/// Reads HTTP/1.1 messages from a socket, strictly: both sides of the gateway use it.
struct MessageReader {
    struct Head {
        var line: String
        var fields: [(name: String, value: String)]

        /// - Parameter name: in lower case.
        subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

        var isChunked: Bool { self["transfer-encoding"]?.lowercased() == "chunked" }
    }

    /// Bytes that are no HTTP, and why.
    struct Malformed: Error { var how: String }

    let socket: Socket
    /// Bytes per read, and the pause between two, of a reader that is slow.
    var pace: (bytes: Int, pause: Double)?

    init(_ socket: Socket) { self.socket = socket }

    /// The next message's head.
    func head() throws -> Head {
        let line = try socket.line()
        var fields: [(name: String, value: String)] = []
        while true {
            let field = try socket.line()
            if field.isEmpty { return Head(line: line, fields: fields) }
            guard let colon = field.firstIndex(of: ":"), fields.count < 1_000 else {
                throw Malformed(how: "the field line '\(field.prefix(80))' after '\(line.prefix(80))'")
            }
            let value = field[field.index(after: colon)...].drop { $0 == " " }
            fields.append((field[..<colon].lowercased(), String(value)))
        }
    }

    /// The content that a head announces.
    ///
    /// - Parameter endsWithConnection: whether the end of the connection ends content without a
    ///   stated length.
    func content(_ head: Head, endsWithConnection: Bool) throws -> [UInt8] {
        if head.isChunked { return try chunks() }
        if let stated = head["content-length"] {
            guard let length = Int(stated), length >= 0, length < 1 << 30 else {
                throw Malformed(how: "the length '\(stated)'")
            }
            return try paced(length)
        }
        guard endsWithConnection else { return [] }
        var content: [UInt8] = []
        while true {
            content += socket.some(socket.available)
            do {
                try socket.receive()
            } catch SocketFailure.closed {
                return content
            }
        }
    }

    private func chunks() throws -> [UInt8] {
        var content: [UInt8] = []
        while true {
            let line = try socket.line()
            guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                throw Malformed(how: "the chunk size '\(line.prefix(80))'")
            }
            if size == 0 {
                while try !socket.line().isEmpty {}
                return content
            }
            content += try paced(size)
            guard try socket.line().isEmpty else { throw Malformed(how: "a chunk longer than its size") }
        }
    }

    private func paced(_ count: Int) throws -> [UInt8] {
        guard let pace else { return try socket.bytes(count) }
        var bytes: [UInt8] = []
        while bytes.count < count {
            bytes += try socket.bytes(min(pace.bytes, count - bytes.count))
            Clock.pause(pace.pause)
        }
        return bytes
    }
}
