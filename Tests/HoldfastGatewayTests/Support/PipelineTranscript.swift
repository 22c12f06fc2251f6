/// The requests that a client writes on one connection, one after the other.
struct PipelineTranscript {
    enum Content {
        case none
        case length(Int)
        /// Chunks of these sizes, with an extension and a trailer.
        case chunked([Int])
    }

    struct Request {
        var method = "GET"
        var content = Content.none
        /// The length of the head in bytes, if it is padded; `nil`: as short as possible.
        var headLength: Int?
        /// Whether it expects a 100 first.
        var expectsContinue = false
    }

    private(set) var bytes: [UInt8] = []
    /// The ends of heads and contents.
    private(set) var borders: [Int] = []

    /// - Parameter prefix: before the number of the request in its target.
    init(_ requests: [Request], prefix: String = "/") {
        for (number, request) in requests.enumerated() { append(request, "\(prefix)\(number)") }
    }

    private mutating func append(_ request: Request, _ target: String) {
        var head = "\(request.method) \(target) HTTP/1.1\r\nHost: g\r\n"
        if request.expectsContinue { head += "Expect: 100-continue\r\n" }
        switch request.content {
        case .none: break
        case .length(let length): head += "Content-Length: \(length)\r\n"
        case .chunked: head += "Transfer-Encoding: chunked\r\n"
        }
        if let length = request.headLength, length > head.utf8.count + 7 {
            head += "X: " + String(repeating: "p", count: length - head.utf8.count - 7) + "\r\n"
        }
        append(head + "\r\n")
        switch request.content {
        case .none: return
        case .length(let length): append(Self.content(length))
        case .chunked(let sizes):
            for size in sizes { append("\(String(size, radix: 16));x=y\r\n" + Self.content(size) + "\r\n") }
            append("0\r\nTrailer: t\r\n\r\n")
        }
    }

    private mutating func append(_ text: String) {
        bytes += text.utf8
        borders.append(bytes.count)
    }

    /// Content that reads like a request if it is mistaken for one.
    private static func content(_ length: Int) -> String {
        let text = "GET /smuggled HTTP/1.1\r\nHost: s\r\n\r\n"
        let repeated = String(repeating: text, count: length / text.utf8.count + 1)
        return String(decoding: repeated.utf8.prefix(length), as: UTF8.self)
    }

    /// The bytes in pieces that end at these places.
    func pieces(cutAt places: [Int]) -> [ArraySlice<UInt8>] {
        var (pieces, start) = ([ArraySlice<UInt8>](), 0)
        for place in Set(places).sorted() + [bytes.count] where place > start && place <= bytes.count {
            pieces.append(bytes[start..<place])
            start = place
        }
        return pieces
    }

    /// The bytes as reads of a buffer of this size bring them.
    func pieces(of size: Int) -> [ArraySlice<UInt8>] {
        pieces(cutAt: Array(stride(from: size, to: bytes.count, by: size)))
    }
}

/// Reads all requests of a connection in the simplest way: from all bytes so far, and without
/// state.
///
/// A reference, written from RFC 9112 alone. It assumes well-formed requests.
enum ReferenceParser {
    struct Request: Hashable {
        var method: String
        var target: String
        var content: [UInt8]
        var expectsContinue: Bool
    }

    static func requests(in bytes: [UInt8]) -> [Request] {
        var requests: [Request] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let lines = lines(&rest)
            let words = lines[0].split(separator: " ")
            let fields = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1).map { $0.lowercased() } }
            func value(_ name: String) -> String? { fields.first { $0[0] == name }?[1].replacing(" ", with: "") }
            var content: [UInt8] = []
            if let length = value("content-length").flatMap({ Int($0) }) {
                content += rest.prefix(length)
                rest = rest.dropFirst(length)
            } else if value("transfer-encoding") == "chunked" {
                while let size = Int(line(&rest).prefix { $0 != ";" }, radix: 16), size > 0 {
                    content += rest.prefix(size)
                    rest = rest.dropFirst(size + 2)
                }
                _ = Self.lines(&rest)
            }
            requests.append(
                Request(
                    method: String(words[0]),
                    target: String(words[1]),
                    content: content,
                    expectsContinue: value("expect") != nil
                )
            )
        }
        return requests
    }

    /// Lines up to an empty one.
    private static func lines(_ rest: inout ArraySlice<UInt8>) -> [String] {
        var lines: [String] = []
        while true {
            let next = line(&rest)
            if next.isEmpty { return lines }
            lines.append(next)
        }
    }

    private static func line(_ rest: inout ArraySlice<UInt8>) -> String {
        let line = rest.prefix { $0 != 0x0D }
        rest = rest.dropFirst(line.count + 2)
        return String(decoding: line, as: UTF8.self)
    }
}
