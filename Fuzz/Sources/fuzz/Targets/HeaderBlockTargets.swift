import HTTPTypes
import NIOCore
import NIOHPACK

@testable import HoldfastGateway

/// Header blocks of one connection of HTTP/2, of any bytes. The gateway's decoder and NIOHPACK find
/// the same fields, or both refuse. RFC 7541
///
/// Each block has a byte for its length before it; after 0 the block is all that is left.
func headerBlocks(_ input: UnsafeBufferPointer<UInt8>) {
    guard let reader = SectionReader() else { return }
    var oracle = HPACKDecoder(allocator: ByteBufferAllocator())
    // The gateway's own limit is looked at below.
    oracle.maxHeaderListSize = .max
    var rest = Array(input)[...]
    while let length = rest.popFirst(), !rest.isEmpty {
        let block = Array(rest.prefix(length == 0 ? rest.count : Int(length)))
        rest = rest.dropFirst(block.count)
        let section = reader.read(block)
        var bytes = ByteBuffer(bytes: block)
        let expected = (try? oracle.decodeHeaders(from: &bytes)).map { $0.map(DecodedField.init) }
        if checkBlock(block, section, expected) != .goesOn { return }
    }
}

/// Lines of fields; an empty line ends a section. NIOHPACK's encoder and nghttp2's write them, and
/// the other side reads the same fields.
func headerFields(_ input: UnsafeBufferPointer<UInt8>) {
    guard let reader = SectionReader(), let writer = SectionWriter() else { return }
    var encoder = HPACKEncoder(allocator: ByteBufferAllocator(), useHuffmanEncoding: input.count % 2 == 0)
    var oracle = HPACKDecoder(allocator: ByteBufferAllocator())
    oracle.maxHeaderListSize = .max
    var lines = FuzzInput(input)
    while !lines.isAtEnd {
        let fields = lines.decodedFields()
        // NIOHPACK refuses other names, or writes them by the index of a similar one: it compares
        // names without their case, by a mask that makes other characters equal too.
        let plain = Set("abcdefghijklmnopqrstuvwxyz0123456789-_.:".utf8)
        guard fields.allSatisfy({ !$0.name.isEmpty && $0.name.utf8.allSatisfy(plain.contains) }) else { continue }
        var headers = HPACKHeaders()
        for field in fields { headers.add(name: field.name, value: field.value, indexing: field.indexing) }
        var block = ByteBuffer()
        guard (try? encoder.encode(headers: headers, to: &block)) != nil else {
            return require(false, "NIOHPACK does not encode \(fields)")
        }
        let section = reader.read(Array(block.readableBytesView))
        if checkBlock(Array(block.readableBytesView), section, fields) != .goesOn { return }

        var written = ByteBuffer(bytes: writer.write(fields))
        let read = (try? oracle.decodeHeaders(from: &written)).map { $0.map(DecodedField.init) }
        require(read == fields, "nghttp2 writes \(fields), NIOHPACK reads \(String(describing: read))")
    }
}

// MARK: - Claims

private enum Verdict { case goesOn, ends }

/// Compares the gateway's view of a block with the oracle's fields; these are `nil` if it refuses.
private func checkBlock(_ block: [UInt8], _ section: SectionReader.Section, _ expected: [DecodedField]?) -> Verdict {
    guard let expected else {
        // The oracle's table is in an unknown state now.
        require(section.isRefused || SectionReader.isLegitimate(block), "only NIOHPACK refuses \(block): \(section)")
        return .ends
    }
    // NIOHPACK keeps text, in which bytes beyond ASCII may be others. Then the table's entries have
    // another size too.
    guard expected.allSatisfy(\.isASCII) else { return .ends }
    switch section.end {
    case .complete:
        require(section.fields == expected, "\(section.fields) instead of \(expected)")
        checkHead(section.collected, expected)
        return .goesOn
    case .malformed:
        // The stream is reset, and the decoder's table stays in use.
        require(section.fields == Array(expected.prefix(section.fields.count)), "\(section) instead of \(expected)")
        require(MalformedSection.isMalformed(expected), "nghttp2 refuses \(expected)")
        return .goesOn
    case .tooLarge:
        let size = expected.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        let limits = MessageLimits()
        require(
            size > 4 * (limits.fieldBlock + limits.startLine) || expected.count > 4 * limits.fieldCount,
            "\(expected.count) fields of \(size) bytes are too large"
        )
        return .ends
    case .undecodable:
        require(SectionReader.hasLongInteger(block), "only nghttp2 refuses \(block), which holds \(expected)")
        return .ends
    }
}

/// A head that is accepted holds the oracle's fields, and nothing else.
private func checkHead(_ section: HTTP2FieldSection, _ expected: [DecodedField]) {
    guard let head = try? section.head(endsStream: true) else { return }
    func values(_ name: String) -> [String] { expected.filter { $0.name == name }.map(\.value) }
    let request = head.request
    require([request.method.rawValue] == values(":method"), "another method: \(request.method)")
    require([request.target] == values(":path"), "another target: \(request.target)")
    let authority = (values(":authority") + values("host")).first
    require(request.authority == authority.flatMap { RequestedHost($0) }, "another authority")
    require(!MalformedSection.isMalformed(expected), "a malformed request is accepted: \(expected)")
    var lines = expected.filter { !$0.name.hasPrefix(":") && $0.name != "cookie" }.map { "\($0.name): \($0.value)" }
    let crumbs = values("cookie")
    if !crumbs.isEmpty { lines.append("cookie: " + crumbs.joined(separator: "; ")) }
    let found = request.fields.map { "\($0.name.canonicalName): \($0.value)" }
    require(found.sorted() == lines.sorted(), "\(found) instead of \(lines)")
}

/// The rules by which a request is malformed, written anew from RFC 9113 §8.2 and §8.3.
private enum MalformedSection {
    private static let pseudo = [":method", ":scheme", ":path", ":authority"]
    private static let forConnections = [
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade",
    ]
    private static let nameBytes = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    private static let tokenBytes = nameBytes.union("ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
    private static let authorityBytes = tokenBytes.union("(),;=:@[]".utf8).subtracting("#^`|".utf8)

    static func isMalformed(_ fields: [DecodedField]) -> Bool {
        let names = fields.map(\.name)
        let rest = names.drop { $0.hasPrefix(":") }
        if rest.contains(where: { $0.hasPrefix(":") }) { return true }
        for name in Self.pseudo where names.count(where: { $0 == name }) > 1 { return true }
        if names.contains(where: { $0.hasPrefix(":") && !Self.pseudo.contains($0) }) { return true }
        for name in [":method", ":scheme", ":path"] where !names.contains(name) { return true }
        if !names.contains(":authority"), !names.contains("host") { return true }
        // RFC 9110 §7.1
        let isForServer = fields.contains { $0.name == ":path" && $0.value == "*" }
        if isForServer, !fields.contains(DecodedField(name: ":method", value: "OPTIONS")) { return true }
        return fields.contains(where: isMalformed) || names.count { $0 == "host" } > 1
            || names.count { $0 == "content-length" } > 1
    }

    private static func isMalformed(_ field: DecodedField) -> Bool {
        let (name, value) = (field.name, Array(field.value.utf8))
        let blanks: [UInt8?] = [0x20, 0x09]
        if value.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) { return true }
        if blanks.contains(value.first) || blanks.contains(value.last) { return true }
        switch name {
        case ":method":
            return value.isEmpty || !value.allSatisfy(Self.tokenBytes.contains)
        // An empty scheme is none, and the gateway has only these two.
        case ":scheme": return !["http", "https"].contains(field.value.lowercased())
        // RFC 3986 §3.3 and §3.4, with what browsers send besides.
        case ":path": return value.first != UInt8(ascii: "/") && field.value != "*" || value.contains(0x20)
        // RFC 3986 §3.2
        case ":authority", "host": return value.isEmpty || !value.allSatisfy(Self.authorityBytes.contains)
        case "te": return field.value.lowercased() != "trailers"
        case "content-length":
            return value.isEmpty || !value.allSatisfy { (0x30...0x39).contains($0) } || field.value != "0"
        default:
            return name.isEmpty || !name.utf8.allSatisfy(Self.nameBytes.contains) || Self.forConnections.contains(name)
        }
    }
}
