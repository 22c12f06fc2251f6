import Foundation

/// The wishes of the command line.
struct Options: Sendable {
    var seconds = 30.0
    var seed: UInt64 = 1
    var parts = Set(Part.allCases)
    var clients = 64
    /// The percentage of clients that speak HTTP/2.
    var http2 = Options.usualHTTP2
    var gateway = ""
    var dump = ""
    /// The file into which the run is written down; empty for none.
    var record = ""
    /// Prints only findings, and a line at the end.
    var isQuiet = false

    static let usualHTTP2 = 40

    /// Whether a client speaks HTTP/2. Those that begin together are of both kinds.
    func speaksHTTP2(_ client: Int) -> Bool { client * 37 % 100 < http2 }

    static let usage = """
        usage: soak [SECONDS] [SEED] [--only PARTS] [--without PARTS] [--clients N] [--http2 PERCENT] [--gateway FILE] [--dump FILE] [--record FILE] [--quiet]

        PERCENT of the clients speak HTTP/2 (\(usualHTTP2)); none does if the run is recorded, because recordings are of
        HTTP/1.1.
        PARTS, joined with commas: \(Part.allCases.map(\.rawValue).joined(separator: ", "))
        """

    struct Wrong: Error { var what: String }

    /// - Parameter folder: the folder of the tools that have no option.
    init(_ arguments: [String], folder: String) throws {
        gateway = folder + "/holdfast"
        dump = folder + "/cache-dump"
        var words = arguments[...]
        var numbers: [String] = []
        while let word = words.popFirst() {
            guard word.hasPrefix("--") else {
                numbers.append(word)
                continue
            }
            if word == "--quiet" {
                isQuiet = true
                continue
            }
            guard let value = words.popFirst() else { throw Wrong(what: "'\(word)' needs a value") }
            switch word {
            case "--only":
                let named = try Self.parts(value)
                parts = named.reduce(named) { $0.union($1.needed) }
            case "--without": parts.subtract(try Self.parts(value))
            case "--clients": clients = try Self.number(value)
            case "--http2": http2 = try Self.number(value)
            case "--gateway": gateway = value
            case "--dump": dump = value
            case "--record": record = value
            default: throw Wrong(what: "'\(word)' is not an option")
            }
        }
        if let first = numbers.first { seconds = Double(try Self.number(first)) }
        if numbers.count > 1 { seed = UInt64(try Self.number(numbers[1])) }
        guard numbers.count <= 2 else { throw Wrong(what: "'\(numbers[2])' is a surplus number") }
        guard parts.contains(where: { !$0.isFault }) else { throw Wrong(what: "no habit is left that sends requests") }
        if !record.isEmpty { http2 = 0 }
        guard (0...100).contains(http2) else { throw Wrong(what: "\(http2) percent: choose 0 to 100") }
        guard (1...256).contains(clients) else { throw Wrong(what: "\(clients) clients: choose 1 to 256") }
    }

    private static func number(_ text: String) throws -> Int {
        guard let number = Int(text), number >= 0 else { throw Wrong(what: "'\(text)' is not a number") }
        return number
    }

    private static func parts(_ text: String) throws -> Set<Part> {
        var parts: Set<Part> = []
        for word in text.split(separator: ",") {
            guard let part = Part(rawValue: String(word)) else {
                throw Wrong(what: "'\(word)' is not a part of the load")
            }
            parts.insert(part)
        }
        return parts
    }
}
