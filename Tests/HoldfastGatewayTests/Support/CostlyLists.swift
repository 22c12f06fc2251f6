/// Values of fields that cost more than others: as long as a head may be, in members of every kind.
enum CostlyList: String, CaseIterable {
    /// Many members that differ.
    case distinct
    /// Members that are equal to their last bytes.
    case similar
    /// The same member again and again.
    case equal
    /// Members of one byte.
    case short
    /// Members with quoted-strings, in which commas and escapes are.
    case quoted
    /// A quoted-string that does not end.
    case unclosed
    /// Members with parameters and weights.
    case weighted
    /// Nothing but white space and commas.
    case empty
    /// Entity tags.
    case tags
    /// Ranges of one byte.
    case ranges
    /// Directives with numbers.
    case directives
    /// Nodes of `Forwarded`, which are trusted.
    case nodes
    /// Addresses that are trusted.
    case addresses
    /// Cookies.
    case cookies
    /// Members of a dictionary of structured fields.
    case structured

    /// The value.
    ///
    /// - Parameter limit: its most bytes.
    func value(_ limit: Int = 60_000) -> String {
        switch self {
        case .distinct: Self.list(limit) { "m\($0)," }
        case .similar: Self.list(limit) { String(repeating: "a", count: 240) + "\($0)," }
        case .equal: Self.list(limit) { $0 < 127 ? "m\($0)," : "m126," }
        case .short: Self.list(limit) { _ in "a," }
        case .quoted: Self.list(limit) { "\"\\\"a,\($0)\\\\\"," }
        case .unclosed: "a=\"" + Self.list(limit - 3) { _ in "\\\"," }
        case .weighted: Self.list(limit) { "en-\($0) ; q=0.\($0 % 10)," }
        case .empty: Self.list(limit) { $0 % 2 == 0 ? " ," : "\t," }
        case .tags: Self.list(limit) { $0 % 2 == 0 ? "\"\($0)\"," : "W/\"\($0)\"," }
        case .ranges: "bytes=" + Self.list(limit - 6) { "\($0 * 2)-\($0 * 2)," }
        case .directives: Self.list(limit) { $0 % 2 == 0 ? "max-age=\($0)," : "no-cache=\"a,\($0)\"," }
        case .nodes: Self.list(limit) { _ in "for=\"127.0.0.1\";proto=http," }
        case .addresses: Self.list(limit) { _ in "127.0.0.1," }
        case .cookies: Self.list(limit) { "c\($0)=\($0); " }
        case .structured: Self.list(limit) { "k\($0)=(\"a\" 1.5 ?1);p=:YQ==:," }
        }
    }

    private static func list(_ limit: Int, _ member: (Int) -> String) -> String {
        var result: [UInt8] = []
        var number = 0
        while true {
            let next = member(number).utf8
            guard result.count + next.count <= limit else { return String(decoding: result, as: UTF8.self) }
            result += next
            number += 1
        }
    }

    /// Fields of requests that a part of the gateway reads, each with the lists that it is made
    /// for.
    static let fields: [(name: String, lists: [CostlyList])] = [
        ("Accept", [.weighted]), ("Accept-Charset", [.weighted]), ("Accept-Encoding", [.weighted, .short]),
        ("Accept-Language", [.weighted, .short]), ("Authorization", []), ("Baggage", [.cookies]),
        ("Cache-Control", [.directives, .quoted]), ("Connection", [.equal]), ("Cookie", [.cookies]), ("Expect", []),
        ("Forwarded", [.nodes]), ("If-Match", [.tags]), ("If-Modified-Since", []),
        ("If-None-Match", [.tags, .unclosed]),
        ("If-Range", [.tags]), ("Keep-Alive", []), ("Link", [.quoted]), ("Pragma", [.directives]),
        ("Prefer", [.structured]), ("Priority", [.structured]), ("Range", [.ranges]), ("TE", [.weighted]),
        ("Trailer", [.equal]), ("Traceparent", []), ("Tracestate", [.cookies]), ("Upgrade", [.equal]),
        ("Via", [.equal]),
        ("X-Forwarded-For", [.addresses]), ("X-Forwarded-Proto", []), ("X-Request-Id", []), ("X-Unknown", [.quoted]),
    ]
}
