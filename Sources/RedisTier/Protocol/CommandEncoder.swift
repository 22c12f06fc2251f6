package import NIOCore

/// Encodes commands as arrays of bulk strings, one after another in one buffer. A long argument is
/// not copied; it is passed as a separate buffer.
///
/// <https://redis.io/docs/latest/develop/reference/protocol-spec/#sending-commands-to-a-redis-server>
package struct CommandEncoder: Sendable {
    /// The minimum length of arguments that are not copied, in bytes.
    static let longArgument = 16 << 10

    private var buffer = ByteBuffer()
    private var whole: [ByteBuffer] = []

    package init() {}

    var isEmpty: Bool { buffer.readableBytes == 0 && whole.isEmpty }

    package mutating func append(_ command: RedisCommand) {
        writeLength("*", command.arguments.count + 1)
        write(command.name)
        for argument in command.arguments {
            switch argument {
            case .text(let text): write(text)
            case .integer(let number): write(String(number))
            case .bytes(let bytes):
                writeLength("$", bytes.readableBytes)
                if bytes.readableBytes < Self.longArgument {
                    buffer.writeImmutableBuffer(bytes)
                } else {
                    whole.append(buffer)
                    whole.append(bytes)
                    buffer = ByteBuffer()
                }
                buffer.writeStaticString("\r\n")
            }
        }
    }

    /// Returns all bytes since the last call, in order, and removes them.
    package mutating func take() -> [ByteBuffer] {
        if buffer.readableBytes > 0 { whole.append(buffer) }
        buffer = ByteBuffer()
        return exchange(&whole, with: [])
    }

    private mutating func write(_ text: String) {
        writeLength("$", text.utf8.count)
        buffer.writeString(text)
        buffer.writeStaticString("\r\n")
    }

    private mutating func writeLength(_ type: StaticString, _ length: Int) {
        buffer.writeStaticString(type)
        buffer.writeString(String(length))
        buffer.writeStaticString("\r\n")
    }
}
