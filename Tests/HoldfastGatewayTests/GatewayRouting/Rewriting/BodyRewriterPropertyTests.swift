import NIOCore
import Testing

@testable import HoldfastGateway

/// For each generated page, the origin's text comes out with its own URLs replaced, and no others,
/// wherever the stream is cut. The expectation comes from a regular expression over the whole text.
@Suite(.timeLimit(.minutes(20)))
struct BodyRewriterPropertyTests {
    /// Numbers that a seed determines.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state >> 33) &* 0x9E37_79B9_7F4A_7C15
        }
    }

    private static let schemes = [
        "https:", "https:", "https:", "https:", "http:", "HTTPS:", "xhttps:", "https", "htt", "", "git+https:",
        "Git+https:",
        "xgit+https:", "view-source:https:",
    ]
    private static let hosts = [
        "index.example", "index.example", "files.example", "files.example", "Files.Example", "api.example",
        "files.example.evil", "other.example",
        "files", "10.0.0.7", "user@index.example", "",
    ]
    private static let ports = ["", "", "", ":443", ":8080", ":80", ":", ":8443", ":99999"]
    private static let paths = [
        "", "/", "/x", "/deep/er", "/deep/er/x", "/deep/erx", "/deep/", "/api", "/api/x", "/app", "/apix", "?q=1", "#f",
        "/deep/er/../x", "/x/%2E.", "/..;x/y", "//x", "/a;b/c", "/deep/er/x/./y", "/...", "/?x=/../y",
    ]
    private static let others = [
        "\"", "'", " ", "\n", "<a href=\"", ">", "</a>", "h", "ht", "http", "é", "\\", "\\\"", "&quot;", "&#46;", ",",
        ".", "-", "{\"a\":\"", "\\u0026", "/", "=", "(", "text", "\u{0}", ". ", ".\"", ".)", "')", ";", "[", "&#x27;",
        "\\u0022", "\\n", "\\u002e", " see ", ".\\\"", "&#47;",
        ":", "\\\\", "\\t", "\\u003a", "git+", "\\u002b", "\\\\n",
    ]

    private func page(_ numbers: inout Numbers) -> String {
        var page = ""
        for _ in 0..<40 {
            func pick(_ list: [String]) -> String { list[Int(numbers.next() % UInt64(list.count))] }
            page += pick(Self.others)
            if numbers.next() % 4 == 0 { continue }
            var url = pick(Self.schemes) + "//" + pick(Self.hosts) + pick(Self.ports) + pick(Self.paths)
            if numbers.next() % 3 == 0 { url = url.replacing("/", with: "\\/") }
            page += url + pick(Self.others)
        }
        return page
    }

    /// A text that is replaced, if what is around it is right.
    private struct Pattern {
        /// Scheme and authority, in lower case.
        var start: [UInt8]
        var path: [UInt8]
        var replacement: [UInt8]
        var isRelative: Bool
    }

    /// Every text that is replaced for the client 'gw.local:8080'.
    private static let patterns = [
        ("https", "index.example", [":443", ""], "", "index.local:8080"),
        ("https", "files.example", [":443", ""], "/deep/er", "nested.local:8080"),
        ("https", "files.example", [":443", ""], "", "files.local:8443/f"),
        ("http", "api.example", [":8080"], "/api", "gw.local:8080/v1"),
        ("http", "10.0.0.7", [":80", ""], "/app", "kept.local:8080/k"),
    ].flatMap { scheme, host, ports, path, client in
        [("\(scheme):", "http:"), ("", "")].flatMap { before, after in
            ports.flatMap { port in
                ["/", "\\/"].compactMap { slash -> Pattern? in
                    func bytes(_ text: String) -> [UInt8] { Array(text.replacing("/", with: slash).utf8) }
                    // The page is of an origin with https.
                    guard before != "" || scheme == "https" else { return nil }
                    return Pattern(
                        start: bytes("\(before)//\(host)\(port)"),
                        path: bytes(path),
                        replacement: bytes("\(after)//\(client)"),
                        isRelative: before == ""
                    )
                }
            }
        }
    }

    private static func spellings(_ characters: String) -> [String] {
        characters.unicodeScalars.flatMap { scalar in
            let code = String(scalar.value, radix: 16)
            return [
                "\(scalar)", "\\u\(String(repeating: "0", count: 4 - code.count))\(code)", "&#\(scalar.value);",
                "&#x\(code);",
            ]
        }
    }

    /// The texts that end any URL.
    private static let ends =
        ["&quot;", "&lt;", "&gt;", "\\\"", "\\b", "\\f", "\\n", "\\r", "\\t"] + spellings("\"<>{}|^`\u{7F}")
        + (0...0x20).map { "\(UnicodeScalar(UInt8($0)))" }

    /// The texts that end a URL if no more of it can follow.
    private static let possibleEnds = ["&apos;", "\\'"] + spellings("'()[],;")
    /// The texts behind the host of a longer URL.
    private static let continuations = ["\\/"] + spellings("/?#")

    /// The length of the one of these texts that is at a place.
    private static func length(_ texts: [String], _ page: ArraySlice<UInt8>) -> Int? {
        texts.filter { page.starts(with: $0.utf8) }.map(\.utf8.count).max()
    }

    private static func ends(_ page: ArraySlice<UInt8>) -> Bool {
        if page.starts(with: #"\\"#.utf8) { return !page.starts(with: #"\\u"#.utf8) }
        return page.isEmpty || length(ends, page) != nil
    }

    private static func maybeEnds(_ page: ArraySlice<UInt8>) -> Bool { ends(page) || length(possibleEnds, page) != nil }

    /// Whether a host ends, or else a path.
    private static func ends(_ rest: ArraySlice<UInt8>, hasPath: Bool, behind before: UInt8?) -> Bool {
        if ends(rest) || length(continuations, rest) != nil { return true }
        if !hasPath {
            let isInSentence = before.map { $0 <= 0x20 } ?? true
            return maybeEnds(rest) || rest.first == UInt8(ascii: ".") && isInSentence && maybeEnds(rest.dropFirst())
        }
        let closers: [UInt8: String] = [UInt8(ascii: "'"): "'", UInt8(ascii: "("): ")", UInt8(ascii: "["): "]"]
        if let closer = before.flatMap({ closers[$0] }) {
            let texts = spellings(closer) + (closer == "'" ? ["\\'", "&apos;"] : [])
            if length(texts, rest) != nil { return true }
        }
        return length(possibleEnds, rest).map { maybeEnds(rest.dropFirst($0)) } ?? false
    }

    /// All spellings of characters that begin with a backslash or an ampersand.
    private static let spelled: [(text: String, byte: UInt8)] =
        [
            ("&quot;", "\""), ("&apos;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("\\\"", "\""), ("\\'", "'"), ("\\/", "/"),
            ("\\\\", "\\"), ("\\b", "\u{8}"), ("\\f", "\u{C}"), ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"),
        ].map { ($0, $1.utf8.first ?? 0) }
        + (UInt8(0)..<0x80).flatMap { byte in
            spellings("\(UnicodeScalar(byte))").dropFirst().map { ($0, byte) }
        }

    /// Whether the path at a place has a dot segment.
    private static func hasDotSegment(_ page: ArraySlice<UInt8>, behind before: UInt8?) -> Bool {
        let closers: [UInt8: UInt8] = [0x27: 0x27, 0x28: 0x29, 0x5B: 0x5D]
        var path: [UInt8] = []
        var rest = page
        while var byte = rest.first {
            var width = 1
            if byte == UInt8(ascii: "\\") || byte == UInt8(ascii: "&"),
                let found = spelled.first(where: { rest.starts(with: $0.text.utf8) })
            {
                (byte, width) = (found.byte, found.text.utf8.count)
            }
            if byte <= 0x20 || "\"<>?#\u{7F}".utf8.contains(byte) || byte == before.flatMap({ closers[$0] }) { break }
            path.append(byte)
            rest = rest.dropFirst(width)
        }
        guard path.first == UInt8(ascii: "/") else { return false }
        while let last = path.last, ",;:!)]'".utf8.contains(last) { path.removeLast() }
        if path.suffix(2).elementsEqual("/.".utf8) { path.removeLast() }
        return path.split(omittingEmptySubsequences: false) { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") }
            .contains { segment in
                let name = String(decoding: segment.prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
                return [".", ".."].contains(name.lowercased().replacing("%2e", with: "."))
            }
    }

    /// The texts before each place, as the content means them; `nil` within an escape of JSON.
    private static func textsBefore(_ page: [UInt8], isJSON: Bool) -> [ArraySlice<UInt8>?] {
        var texts: [ArraySlice<UInt8>?] = Array(repeating: nil, count: page.count)
        var text: [UInt8] = []
        var place = 0
        while place < page.count {
            texts[place] = ArraySlice(Array(text.suffix(8)))
            let rest = page[place...]
            let found = spelled.first { isJSON && $0.text.hasPrefix("\\") && rest.starts(with: $0.text.utf8) }
            text.append(found?.byte ?? page[place])
            place += found?.text.utf8.count ?? 1
        }
        return texts
    }

    private static func mayPrecedeScheme(_ text: ArraySlice<UInt8>) -> Bool {
        func isSchemeByte(_ byte: UInt8?) -> Bool {
            byte.map { "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8.contains($0) } ?? false
        }
        let isOfGit = String(decoding: text.suffix(4), as: UTF8.self).lowercased() == "git+"
        let text = isOfGit ? text.dropLast(4) : text
        if text.last == UInt8(ascii: ":") { return !isSchemeByte(text.dropLast().last) }
        return !isSchemeByte(text.last) && text.last != UInt8(ascii: "/")
    }

    private func isReplaced(_ pattern: Pattern, _ page: [UInt8], at place: Int, behind text: ArraySlice<UInt8>) -> Bool
    {
        let path = place + pattern.start.count
        let end = path + pattern.path.count
        let before = text.last
        guard end <= page.count, page[path..<end].elementsEqual(pattern.path),
            String(decoding: page[place..<path], as: UTF8.self).lowercased().utf8.elementsEqual(pattern.start),
            Self.ends(page[end...], hasPath: !pattern.path.isEmpty, behind: before),
            !Self.hasDotSegment(page[path...], behind: before)
        else { return false }
        guard pattern.isRelative else { return Self.mayPrecedeScheme(text) }
        return before.map { "\"'=(".utf8.contains($0) } ?? false
    }

    /// The expectation: each text that may be replaced is tried at each place.
    private func expected(_ text: String, isJSON: Bool) -> String {
        let page = Array(text.utf8)
        let texts = Self.textsBefore(page, isJSON: isJSON)
        var result: [UInt8] = []
        var place = 0
        while place < page.count {
            let found = Self.patterns
                .filter { pattern in
                    texts[place].map { isReplaced(pattern, page, at: place, behind: $0) } ?? false
                }
                .max { $0.start.count + $0.path.count < $1.start.count + $1.path.count }
            result += found?.replacement ?? [page[place]]
            place += found.map { $0.start.count + $0.path.count } ?? 1
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Every second page is JSON.
    private func isJSON(_ seed: Int) -> Bool { seed % 2 == 0 }

    @Test(arguments: 1...40) func replacesItsOwnURLsAndNoOthers(seed: Int) throws {
        var numbers = Numbers(state: UInt64(seed))
        let client = try RewriteSample.client(.index)
        let page = page(&numbers)
        let type = isJSON(seed) ? "application/json" : "text/html"
        let expected = expected(page, isJSON: isJSON(seed))
        #expect(RewriteSample.rewrite([page], for: client, contentType: type) == expected, "\(page)")
        let bytes = Array(page.utf8)
        for cut in 1..<bytes.count {
            var rewriter = BodyRewriter(for: client, contentType: type)
            var result = rewriter.rewrite(ByteBuffer(bytes: bytes[..<cut]))
            result.writeImmutableBuffer(rewriter.rewrite(ByteBuffer(bytes: bytes[cut...])))
            result.writeImmutableBuffer(rewriter.rewrite(ByteBuffer(), isLast: true))
            #expect(String(buffer: result) == expected, "cut at \(cut) of \(page)")
        }
        var rewriter = BodyRewriter(for: client, contentType: type)
        var result = ByteBuffer()
        for byte in bytes { result.writeImmutableBuffer(rewriter.rewrite(ByteBuffer(bytes: [byte]))) }
        result.writeImmutableBuffer(rewriter.rewrite(ByteBuffer(), isLast: true))
        #expect(String(buffer: result) == expected, "byte by byte: \(page)")
    }

    @Test func pagesHaveMatches() {
        let changed = (1...40).filter { seed in
            var numbers = Numbers(state: UInt64(seed))
            let page = page(&numbers)
            return expected(page, isJSON: isJSON(seed)) != page
        }
        #expect(changed.count > 20)
    }
}
