package import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// The recorded request that differs least from a refused one, and the first difference. It takes
/// the recorded requests one by one.
package struct NearestRequest: Sendable {
    /// A difference between two requests. Values are redacted and cut; `nil` if there is none.
    package enum Difference: Sendable, Hashable {
        /// A parameter of the query.
        case parameter(String, asked: String?, recorded: String?)
        /// A request field by which the response varies.
        case field(String, asked: String?, recorded: String?)
        /// The request's content.
        case content
        /// The scheme, the host or the port.
        case origin(asked: String, recorded: String)
    }

    /// The maximum number of recorded requests with the same method and path that are compared.
    package static let limit = 256
    /// The maximum length of a value in a message, in bytes.
    private static let valueLength = 100

    private let asked: JobRequest
    /// The request's fields that may select a response.
    private let fields: HTTPFields
    private var compared = 0
    private var best: (differences: [Difference], request: JobRequest)?

    /// - Parameter exchange: the refused request.
    package init(to exchange: JobExchange) {
        asked = exchange.request
        fields = exchange.asked
    }

    /// The nearest request that was taken; `nil` if none has the same method and path.
    package var nearest: JobRequest? { best?.request }
    /// The first difference from ``nearest``; `nil` if nothing that is recorded differs.
    package var difference: Difference? { best?.differences.first }

    /// Takes a recorded request.
    package mutating func take(_ recorded: JobRequest) {
        guard recorded.method == asked.method, recorded.target.path == asked.target.path, compared < Self.limit else {
            return
        }
        compared += 1
        let found = differences(from: recorded)
        if let best, best.differences.count <= found.count { return }
        best = (found, recorded)
    }

    private func differences(from recorded: JobRequest) -> [Difference] {
        var result: [Difference] = []
        let (mine, theirs) = (Self.origin(asked.target), Self.origin(recorded.target))
        if mine != theirs { result.append(.origin(asked: mine, recorded: theirs)) }
        result += parameters(asked.target.query, recorded.target.query)
        for field in recorded.fields {
            let lines = fields[values: field.name]
            let value = lines.isEmpty ? nil : lines.joined(separator: ", ")
            guard value != field.value else { continue }
            let name = field.name.canonicalName
            result.append(.field(name, asked: value.map(Self.cut), recorded: Self.cut(field.value)))
        }
        if asked.content != recorded.content { result.append(.content) }
        return result
    }

    private static func origin(_ target: TargetURI) -> String { "\(target.scheme)://\(target.authority)" }

    /// Compares parameters in their order, then those that only one of the queries has.
    private func parameters(_ mine: String?, _ theirs: String?) -> [Difference] {
        guard mine != theirs else { return [] }
        let (mine, theirs) = (Self.pairs(mine), Self.pairs(theirs))
        var result: [Difference] = []
        for (index, pair) in mine.enumerated() {
            let others = theirs.filter { $0.name == pair.name }
            let position = mine[..<index].count(where: { $0.name == pair.name })
            let other = position < others.count ? others[position] : nil
            if other?.value != pair.value || other == nil {
                result.append(Self.difference(pair.name, pair.value, other?.value))
            }
        }
        for (index, pair) in theirs.enumerated() {
            let position = theirs[..<index].count(where: { $0.name == pair.name })
            if mine.count(where: { $0.name == pair.name }) <= position {
                result.append(Self.difference(pair.name, nil, pair.value))
            }
        }
        return result
    }

    private static func pairs(_ query: String?) -> [(name: String, value: String)] {
        (query ?? "").split(separator: "&", maxSplits: limit).prefix(limit).map { piece in
            let parts = piece.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts.first ?? ""), parts.count > 1 ? String(parts.dropFirst().joined()) : "")
        }
    }

    private static func difference(_ name: String, _ asked: String?, _ recorded: String?) -> Difference {
        func shown(_ value: String) -> String {
            let pair = Redaction.query("\(name)=\(value)")
            return cut(String(pair.dropFirst(name.count + 1)))
        }
        return .parameter(cut(name), asked: asked.map(shown), recorded: recorded.map(shown))
    }

    private static func cut(_ text: String) -> String {
        let bytes = text.utf8
        guard bytes.count > valueLength else { return text }
        return String(decoding: bytes.prefix(valueLength), as: UTF8.self) + "…"
    }
}

extension NearestRequest.Difference: CustomStringConvertible {
    package var description: String {
        switch self {
        case .parameter(let name, let asked, let recorded):
            "the parameter '\(name)' is \(Self.text(asked)), and was \(Self.text(recorded))"
        case .field(let name, let asked, let recorded):
            "the field '\(name)' is \(Self.text(asked)), and was \(Self.text(recorded))"
        case .content: "the content differs"
        case .origin(let asked, let recorded): "the origin is '\(asked)', and was '\(recorded)'"
        }
    }

    private static func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "absent" }
}
