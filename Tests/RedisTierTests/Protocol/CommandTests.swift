import NIOCore
import Testing

@testable import RedisTier

/// Encoding of commands.
@Suite(.timeLimit(.minutes(20))) struct CommandTests {
    @Test func commandsAreArraysOfStringsInOneBuffer() {
        var encoder = CommandEncoder()
        #expect(encoder.isEmpty)
        encoder.append(RedisCommand("SET", "k", .bytes(ByteBuffer(string: "a\r\nb")), "PX", -20))
        encoder.append(RedisCommand("PING"))
        let buffers = encoder.take()
        #expect(buffers.count == 1)
        #expect(
            buffers.first.map { String(buffer: $0) }
                == "*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n$2\r\nPX\r\n$3\r\n-20\r\n*1\r\n$4\r\nPING\r\n"
        )
        #expect(encoder.isEmpty && encoder.take().isEmpty)
    }

    @Test func longArgumentIsNotCopied() throws {
        let body = ByteBuffer(repeating: 0x62, count: CommandEncoder.longArgument)
        var encoder = CommandEncoder()
        encoder.append(RedisCommand("SET", "k", .bytes(body), "PX", 5))
        encoder.append(RedisCommand("PING"))
        let buffers = encoder.take()
        try #require(buffers.count == 3)
        let start = body.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(buffers[1].withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) } == start)
        #expect(try words(buffers) == [["SET", "k", String(buffer: body), "PX", "5"], ["PING"]])
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, 20_000, 100_000])
    func encodedCountIsThatOfTheBytes(_ length: Int) throws {
        for command in [
            RedisCommand("SET", .text(String(repeating: "ä", count: length / 2)), .integer(-length), .integer(.min)),
            RedisCommand("GET", .bytes(ByteBuffer(repeating: 1, count: length)), .integer(.max)),
            RedisCommand("DEL", (0..<min(length, 200)).map { .integer($0) }),
        ] {
            var encoder = CommandEncoder()
            encoder.append(command)
            #expect(encoder.take().reduce(0) { $0 + $1.readableBytes } == command.encodedCount)
        }
    }

    @Test func descriptionsShowNoArguments() {
        #expect("\(RedisCommand("AUTH", "alice", "secret"))" == "AUTH")
        let credentials = RedisCredentials(user: "alice", password: "secret")
        var dumped = ""
        dump(credentials, to: &dumped)
        #expect(!"\(credentials) \(String(reflecting: credentials)) \(dumped)".contains("secret"))
    }

    private func words(_ buffers: [ByteBuffer]) throws -> [[String]] {
        Parsed(buffers.map(\.readableBytesView)).messages.map { message in
            guard case .reply(.array(let words)) = message else { return [] }
            return words.map { $0.text ?? "" }
        }
    }
}
