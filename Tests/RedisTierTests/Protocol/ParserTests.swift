import NIOCore
import Testing

@testable import RedisTier

/// The parser against a table of messages, whole and cut.
@Suite(.timeLimit(.minutes(20))) struct ParserTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var bytes: String
        var messages: [RESPMessage]

        init(_ bytes: String, _ messages: RESPMessage...) {
            self.bytes = bytes
            self.messages = messages
        }

        init(_ bytes: String, _ value: RESPValue) { self.init(bytes, .reply(value)) }

        var testDescription: String { bytes.debugDescription }
    }

    static let cases: [Case] = [
        Case("+OK\r\n", .simple("OK")),
        Case("+\r\n", .simple("")),
        Case("-ERR no such key\r\n", .failed("ERR no such key")),
        Case(":0\r\n", .integer(0)),
        Case(":+7\r\n", .integer(7)),
        Case(":-9223372036854775808\r\n", .integer(.min)),
        Case(":9223372036854775807\r\n", .integer(.max)),
        Case("$0\r\n\r\n", .bulk("")),
        Case("$5\r\na\r\nbc\r\n", .bulk("a\r\nbc")),
        Case("$-1\r\n", .null),
        Case("*-1\r\n", .null),
        Case("_\r\n", .null),
        Case("*0\r\n", .array([])),
        Case("*2\r\n$1\r\na\r\n*1\r\n:1\r\n", .array([.bulk("a"), .array([.integer(1)])])),
        Case("*3\r\n*0\r\n*-1\r\n+x\r\n", .array([.array([]), .null, .simple("x")])),
        Case("#t\r\n", .boolean(true)),
        Case("#f\r\n", .boolean(false)),
        Case(",1.25\r\n", .double(1.25)),
        Case(",-1E3\r\n", .double(-1000)),
        Case(",10\r\n", .double(10)),
        Case(",inf\r\n", .double(.infinity)),
        Case(",-inf\r\n", .double(-.infinity)),
        Case("(3492890328409238509324850943850943825024385\r\n", .big("3492890328409238509324850943850943825024385")),
        Case("(-1\r\n", .big("-1")),
        Case("!22\r\nSYNTAX invalid\r\nsyntax\r\n", .failed("SYNTAX invalid\r\nsyntax")),
        Case("=8\r\ntxt:Some\r\n", .verbatimString(format: "txt", ByteBuffer(string: "Some"))),
        Case("=4\r\nmkd:\r\n", .verbatimString(format: "mkd", ByteBuffer())),
        Case("%0\r\n", .map([])),
        Case(
            "%1\r\n+a\r\n%1\r\n:1\r\n_\r\n",
            .map([
                RESPEntry(key: .simple("a"), value: .map([RESPEntry(key: .integer(1), value: .null)]))
            ])
        ),
        Case("~2\r\n:1\r\n:1\r\n", .set([.integer(1), .integer(1)])),
        // Attributes are dropped, wherever they are.
        Case("|1\r\n+ttl\r\n:3600\r\n+OK\r\n", .simple("OK")),
        Case("*2\r\n|1\r\n+a\r\n*1\r\n:9\r\n:1\r\n:2\r\n", .array([.integer(1), .integer(2)])),
        Case("|0\r\n|0\r\n:1\r\n", .integer(1)),
        // Pushes are no replies.
        Case(
            ">2\r\n+invalidate\r\n*1\r\n+k\r\n+OK\r\n>1\r\n+x\r\n",
            .push([.simple("invalidate"), .array([.simple("k")])]),
            .reply(.simple("OK")),
            .push([.simple("x")])
        ),
        Case("|1\r\n+a\r\n+b\r\n>1\r\n+m\r\n:1\r\n", .push([.simple("m")]), .reply(.integer(1))),
        Case("+a\r\n-b\r\n:3\r\n", .reply(.simple("a")), .reply(.failed("b")), .reply(.integer(3))),
    ]

    @Test(arguments: cases) func messageIsParsed(_ sample: Case) throws {
        let result = Parsed([sample.bytes.utf8[...]])
        #expect(result.error == nil)
        #expect(result.messages == sample.messages)
        #expect(result.undecoded == 0)
    }

    @Test(arguments: cases) func everyCutGivesTheSame(_ sample: Case) {
        let bytes = Array(sample.bytes.utf8)
        for cut in 0...bytes.count {
            let result = Parsed([bytes[..<cut], bytes[cut...]])
            #expect(result.messages == sample.messages && result.error == nil, "cut at \(cut)")
        }
        #expect(Parsed(bytes.indices.map { bytes[$0...$0] }).messages == sample.messages)
    }

    @Test func everyCutOfAllMessagesGivesTheSame() {
        let bytes = Array(Self.cases.map(\.bytes).joined().utf8)
        let messages = Self.cases.flatMap(\.messages)
        for cut in 0...bytes.count {
            // Without the values, which would be pages for each cut.
            let isSame = Parsed([bytes[..<cut], bytes[cut...]]).messages == messages
            #expect(isSame, "cut at \(cut)")
        }
        #expect(Parsed(bytes.indices.map { bytes[$0...$0] }).messages == messages)
    }

    @Test func noNumberIsADouble() {
        guard case .reply(.double(let number)) = Parsed([",nan\r\n".utf8[...]]).messages.first else {
            Issue.record("no double")
            return
        }
        #expect(number.isNaN)
    }

    @Test(arguments: 1...40) func randomValuesSurvive(_ seed: UInt64) {
        var random = SeededValues(seed: seed)
        let values = (0..<20).map { _ in random.value(depth: 3) }
        var written = ByteBuffer()
        for value in values { written.write(value) }
        let bytes = Array(written.readableBytesView)
        let whole = Parsed([bytes[...]])
        #expect(whole.messages == values.map { .reply($0) } && whole.error == nil)
        #expect(Parsed(random.cut(bytes)).messages == whole.messages)
        #expect(Parsed(bytes.indices.map { bytes[$0...$0] }).messages == whole.messages)
    }

    // MARK: Memory

    @Test func stringsAreSlicesOfTheirBuffer() throws {
        let body = String(repeating: "b", count: 60_000)
        let received = ByteBuffer(string: "$60000\r\n\(body)\r\n+OK\r\n")
        var parser = RESPParser()
        parser.append(received)
        guard case .reply(.bulkString(let bytes)) = try parser.next() else { throw PeerError.notACommand }
        let start = received.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        let slice = bytes.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(slice == start + 8)
    }

    @Test func longStringInPiecesGetsOneBufferOfItsSize() throws {
        let length = 1 << 20
        var parser = RESPParser()
        parser.append(ByteBuffer(string: "$\(length)\r\n"))
        let piece = ByteBuffer(repeating: 0x62, count: 1 << 10)
        for _ in 0..<(length >> 10) {
            #expect(try parser.next() == nil)
            parser.append(piece)
        }
        parser.append(ByteBuffer(string: "\r\n"))
        guard case .reply(.bulkString(let bytes)) = try parser.next() else { throw PeerError.notACommand }
        #expect(bytes.readableBytes == length)
        #expect(bytes.storageCapacity <= 2 * length)
    }

    /// Each byte comes alone: if the parser read anything twice, or copied what it has, this would
    /// take hours.
    @Test func stringByteByByteIsNotReadAgain() throws {
        let length = 1 << 19
        var parser = RESPParser()
        parser.append(ByteBuffer(string: "$\(length)\r\n"))
        let byte = ByteBuffer(string: "b")
        for _ in 0..<length {
            parser.append(byte)
            #expect(try parser.next() == nil)
        }
        parser.append(ByteBuffer(string: "\r\n"))
        #expect(try parser.next() != nil)
    }

    @Test func elementsThatWaitDoNotKeepTheirBuffers() throws {
        var parser = RESPParser()
        parser.append(ByteBuffer(string: "*100\r\n"))
        for _ in 0..<100 {
            #expect(try parser.next() == nil)
            var read = ByteBufferAllocator().buffer(capacity: 65_536)
            read.writeString("$3\r\nabc\r\n")
            parser.append(read)
        }
        guard case .reply(.array(let elements)) = try parser.next() else { throw PeerError.notACommand }
        // The last one came with the end of the reply.
        for element in elements.dropLast() { #expect(element.bytes?.storageCapacity ?? .max < 256) }
        var last = elements[99]
        #expect(last.bytes?.storageCapacity == 65_536)
        last.detach()
        #expect(last.bytes?.storageCapacity ?? .max < 256)
        #expect(last == .bulk("abc"))
    }
}

/// The result of a parser that got these pieces.
struct Parsed {
    var messages: [RESPMessage] = []
    var error: RedisTierError?
    var undecoded = 0

    init(_ pieces: [some Sequence<UInt8>], limits: RESPLimits = RESPLimits()) {
        var parser = RESPParser(limits: limits)
        do throws(RedisTierError) {
            for piece in pieces {
                parser.append(ByteBuffer(bytes: piece))
                while let message = try parser.next() { messages.append(message) }
            }
            undecoded = parser.undecodedCount
        } catch {
            self.error = error
        }
    }
}
