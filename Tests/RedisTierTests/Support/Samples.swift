import NIOCore
import RedisTier
import Synchronization

extension RESPValue {
    static func simple(_ text: String) -> RESPValue { .simpleString(ByteBuffer(string: text)) }
    static func bulk(_ text: String) -> RESPValue { .bulkString(ByteBuffer(string: text)) }
    static func big(_ text: String) -> RESPValue { .bigNumber(ByteBuffer(string: text)) }
    static func failed(_ text: String) -> RESPValue { .error(RESPServerError(text)) }
}

extension RedisConnectionSettings {
    /// Settings with which no busy machine is too slow.
    static func patient(_ endpoint: RedisEndpoint) -> RedisConnectionSettings {
        var settings = RedisConnectionSettings(endpoint: endpoint)
        settings.connectTimeout = .patient
        settings.stallLimit = .patient
        return settings
    }
}

extension TimeAmount {
    static let patient = TimeAmount.minutes(20)
}

/// Keeps the replies that callbacks receive, in their order.
final class ReplyRecorder: Sendable {
    private let state = Mutex<[String]>([])

    var all: [String] { state.withLock { $0 } }

    func callback(_ name: String) -> @Sendable (Result<RESPValue, RedisTierError>) -> Void {
        { result in
            let text =
                switch result {
                case .success(let value): value.text ?? "\(value)"
                case .failure(let error): "\(error.code)"
                }
            self.state.withLock { $0.append("\(name) \(text)") }
        }
    }
}

/// The code of the error that a body throws.
func errorCode(_ body: () async throws(RedisTierError) -> Void) async -> RedisTierError.Code? {
    do throws(RedisTierError) {
        try await body()
        return nil
    } catch {
        return error.code
    }
}

extension ByteBuffer {
    /// Writes a value as a server does.
    mutating func write(_ value: RESPValue) {
        switch value {
        case .simpleString(let bytes): writeLine("+", bytes)
        case .bulkString(let bytes): write("$", bytes)
        case .verbatimString(let format, let bytes):
            write("=", ByteBuffer(string: format + ":" + String(buffer: bytes)))
        case .error(let error): writeString("-\(error.text)\r\n")
        case .integer(let number): writeString(":\(number)\r\n")
        case .double(let number): writeString(",\(number)\r\n")
        case .bigNumber(let digits): writeLine("(", digits)
        case .boolean(let flag): writeString(flag ? "#t\r\n" : "#f\r\n")
        case .null: writeString("_\r\n")
        case .array(let elements): write("*", elements)
        case .set(let elements): write("~", elements)
        case .map(let entries):
            writeString("%\(entries.count)\r\n")
            for entry in entries {
                write(entry.key)
                write(entry.value)
            }
        }
    }

    private mutating func write(_ type: String, _ elements: [RESPValue]) {
        writeString("\(type)\(elements.count)\r\n")
        for element in elements { write(element) }
    }

    private mutating func write(_ type: String, _ bytes: ByteBuffer) {
        writeString("\(type)\(bytes.readableBytes)\r\n")
        writeImmutableBuffer(bytes)
        writeString("\r\n")
    }

    private mutating func writeLine(_ type: String, _ bytes: ByteBuffer) {
        writeString(type)
        writeImmutableBuffer(bytes)
        writeString("\r\n")
    }
}
