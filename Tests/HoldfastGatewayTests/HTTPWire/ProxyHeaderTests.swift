import Testing

@testable import HTTPWire
@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct ProxyHeaderTests {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    static let addresses: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 1, 0xDC, 0x04, 0x01, 0xBB]

    /// A header of version 2.
    static func block(_ command: UInt8, _ family: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        signature + [0x20 | command, family, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
    }

    private static func read(_ bytes: [UInt8]) -> ProxyHeader.Reading { bytes.withUnsafeBytes { ProxyHeader.read($0) } }

    private static func read(_ text: String) -> ProxyHeader.Reading { read(Array(text.utf8)) }

    private static let endpoints = ProxyHeader.Endpoints(
        source: .init(address: "192.0.2.1", port: 56324),
        destination: .init(address: "198.51.100.1", port: 443)
    )

    private static func header(_ endpoints: ProxyHeader.Endpoints?, _ length: Int) -> ProxyHeader.Reading {
        .header(ProxyHeader(endpoints: endpoints, length: length))
    }

    @Test func lineNamesBothEnds() {
        let line = "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"
        #expect(Self.read(line + "GET /") == Self.header(Self.endpoints, line.utf8.count))
        guard case .header(let header) = Self.read("PROXY TCP6 2001:DB8:0::1 ::ffff:192.0.2.1 0 65535\r\n") else {
            Issue.record("no header")
            return
        }
        #expect(header.endpoints?.source == .init(address: "2001:db8::1", port: 0))
        #expect(header.endpoints?.destination == .init(address: "::ffff:192.0.2.1", port: 65535))
    }

    @Test(arguments: ["", " ", " a b c", " ffff:f...f:ffff 65535"])
    func unknownLineNamesNoneWhateverFollows(rest: String) {
        #expect(Self.read("PROXY UNKNOWN\(rest)\r\n") == Self.header(nil, 15 + rest.utf8.count))
    }

    @Test(arguments: [
        "PROXY TCP4 192.0.2.01 198.51.100.1 1 2", "PROXY TCP4 192.0.2.1 198.51.100.1 01 2",
        "PROXY TCP4 192.0.2.1  198.51.100.1 1 2", "PROXY TCP4 192.0.2.1 198.51.100.1 1 65536",
        "PROXY TCP4 192.0.2.1 198.51.100.1 1", "PROXY TCP4 192.0.2.1 198.51.100.1 1 2 3",
        "PROXY TCP4 192.0.2.1 198.51.100.1 +1 2", "PROXY TCP4 ::1 ::1 1 2", "PROXY TCP6 192.0.2.1 ::1 1 2",
        "PROXY TCP5 192.0.2.1 198.51.100.1 1 2", "PROXY UNKNOWNS", "PROXY unknown", "PROXY ", "PROXY TCP4",
        "PROXY TCP4 192.0.2 198.51.100.1 1 2", "PROXY TCP6 fe80::1%lo ::1 1 2",
    ])
    func rejectsMalformedLines(line: String) { #expect(Self.read(line + "\r\n") == .refused(.malformed)) }

    /// This holds at every cut.
    @Test(
        arguments: [0, 1],
        [[], [0xFF], addresses, [0x03, 0x00, 0x04, 1, 2, 3, 4], [UInt8](repeating: 0xAA, count: 200)]
    )
    func blockWithoutFamilyNamesNoneWhateverFollows(command: UInt8, rest: [UInt8]) {
        for family: UInt8 in [0x00, 0x01, 0x02] where command == 0 || family == 0 {
            let block = Self.block(command, family, rest)
            for cut in 0..<block.count { #expect(Self.read(Array(block[..<cut])) == .needsMore) }
            #expect(Self.read(block + Array("GET /".utf8)) == Self.header(nil, block.count))
        }
    }

    @Test func lineIsTextAndEndsWithCRLF() {
        for text in ["PROXY UNKNOWN\n", "PROXY UNKNOWN\ra", "PROXY UNKNOWN \0\r\n", "PROXY UNKNOWN\u{E9}\r\n"] {
            #expect(Self.read(text) == .refused(.malformed))
        }
    }

    @Test func lineHasAtMost107Bytes() {
        let start = "PROXY UNKNOWN "
        func line(_ count: Int) -> String {
            start + String(repeating: "a", count: count - start.utf8.count - 2) + "\r\n"
        }
        #expect(Self.read(line(107)) == Self.header(nil, 107))
        #expect(Self.read(line(108)) == .refused(.tooLong))
        #expect(Self.read(Array(line(120).utf8.prefix(106))) == .needsMore)
        #expect(Self.read(Array(line(120).utf8.prefix(107))) == .refused(.tooLong))
    }

    @Test func bytesThatBeginOtherwiseHaveNoHeader() {
        for text in ["GET / HTTP/1.1\r\n", "PROXX", "proxy ", "\r\n\r\n\r\n", "\u{16}\u{3}\u{1}"] {
            #expect(Self.read(text) == .refused(.missing))
        }
        #expect(Self.read([]) == .needsMore)
    }

    @Test func blockNamesBothEnds() {
        let block = Self.block(1, 0x11, Self.addresses)
        #expect(Self.read(block + [1, 2, 3]) == Self.header(Self.endpoints, 28))
        let long: [UInt8] = [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]
        guard case .header(let header) = Self.read(Self.block(1, 0x21, long + long + [0, 1, 0, 2])) else {
            Issue.record("no header")
            return
        }
        #expect(header.endpoints?.source == .init(address: "2001:db8::1", port: 1))
        #expect(header.endpoints?.destination == .init(address: "2001:db8::1", port: 2))
        #expect(header.length == 52)
    }

    /// Neither does a block of no family.
    @Test func blockOfProxyItselfOrOfUnixSocketNamesNone() {
        #expect(Self.read(Self.block(0, 0, [])) == Self.header(nil, 16))
        #expect(Self.read(Self.block(0, 0x11, Self.addresses)) == Self.header(nil, 28))
        #expect(Self.read(Self.block(0, 0xFF, [1, 2, 3])) == Self.header(nil, 19))
        #expect(Self.read(Self.block(1, 0, [])) == Self.header(nil, 16))
        for family in [UInt8(0x31), 0x32] {
            #expect(Self.read(Self.block(1, family, [UInt8](repeating: 0, count: 216))) == Self.header(nil, 232))
        }
    }

    @Test func rejectsMalformedBlocks() {
        var blocks = [0x01, 0x10, 0x12, 0x22, 0x32, 0x41, 0x13].map { Self.block(1, $0, Self.addresses) }
        blocks += [Self.block(2, 0x11, Self.addresses), Self.block(1, 0x11, Array(Self.addresses.dropLast()))]
        blocks += [Self.block(1, 0x21, Self.addresses), Self.block(1, 0x31, Self.addresses)]
        blocks.append(Self.block(1, 0x32, [UInt8](repeating: 0, count: 215)))
        blocks += [Self.signature + [0x11, 0x11, 0, 12] + Self.addresses]
        // Extensions that do not fit.
        for rest: [UInt8] in [[4], [4, 0], [4, 0, 1], [4, 0, 2, 1], [4, 0xFF, 0xFF, 1], [3, 0, 3, 0, 0, 0]] {
            blocks.append(Self.block(1, 0x11, Self.addresses + rest))
        }
        for block in blocks { #expect(Self.read(block) == .refused(.malformed), "\(block)") }
    }

    @Test func blockHasAtMost4KiBAndLongerOneIsRefusedAtOnce() {
        func padded(_ count: Int) -> [UInt8] {
            let rest = count - Self.addresses.count - 3
            return Self.addresses + [4, UInt8(rest >> 8), UInt8(rest & 0xFF)] + [UInt8](repeating: 0, count: rest)
        }
        #expect(Self.read(Self.block(1, 0x11, padded(4096))) == Self.header(Self.endpoints, 4112))
        #expect(Self.read(Array(Self.block(1, 0x11, padded(4097)).prefix(16))) == .refused(.tooLong))
    }

    @Test func comparesChecksumIfThereIsOne() {
        let digits = Array("123456789".utf8)
        #expect(digits.withUnsafeBytes { ProxyHeader.castagnoli($0, skipping: 0..<0) } == 0xE306_9283)
        let zeros = Self.block(1, 0x11, Self.addresses + [2, 0, 1, 97, 3, 0, 4, 0, 0, 0, 0])
        let sum = zeros.withUnsafeBytes { ProxyHeader.castagnoli($0, skipping: 0..<0) }
        let right = Array(zeros.dropLast(4)) + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> $0) }
        #expect(Self.read(right + [1]) == Self.header(Self.endpoints, right.count))
        // Another kind of extension would be none to check.
        for place in right.indices where place >= 20 && place != right.count - 7 {
            var wrong = right
            wrong[place] ^= 1
            // A changed extension may have another form.
            if case .refused = Self.read(wrong) { continue }
            Issue.record("the byte at \(place) is not checked")
        }
        let twice = Self.block(1, 0x11, Self.addresses + [3, 0, 4, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0])
        #expect(Self.read(twice) == .refused(.malformed))
    }

    @Test func resultDoesNotDependOnCuts() {
        let line = Array("PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n".utf8)
        for whole in [line, Self.block(1, 0x11, Self.addresses + [4, 0, 2, 1, 1]), Self.block(0, 0, [])] {
            for count in whole.indices { #expect(Self.read(Array(whole[..<count])) == .needsMore, "\(count)") }
            guard case .header(let header) = Self.read(whole) else {
                Issue.record("no header")
                continue
            }
            #expect(header.length == whole.count)
        }
    }
}
