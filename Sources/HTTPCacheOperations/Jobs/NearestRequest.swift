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
        /// The request's content. There is no outline of one of the two.
        case content
        /// A member of JSON content, by its JSON Pointer. Its values are not known. RFC 6901
        case member(String, ContentDifference.Change)
        /// JSON content whose compared members are equal.
        case form
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
    private var best: (weight: Int, differences: [Difference], request: JobRequest)?

    /// - Parameter exchange: the refused request.
    package init(to exchange: JobExchange) {
        asked = exchange.request
        fields = exchange.asked
    }

    /// The nearest request that was taken; `nil` if none has the same method and path.
    package var nearest: JobRequest? { best?.request }
    /// The first difference from ``nearest``; `nil` if nothing that is recorded differs.
    package var difference: Difference? { best?.differences.first }

    /// The origin of ``nearest``, if nothing else differs.
    package var differingOrigin: String? {
        guard best?.differences.count == 1, case .origin(_, let recorded)? = difference else { return nil }
        return recorded
    }

    /// Takes a recorded request.
    package mutating func take(_ recorded: JobRequest) {
        guard recorded.method == asked.method, recorded.target.path == asked.target.path, compared < Self.limit else {
            return
        }
        compared += 1
        var found = differences(from: recorded)
        var weight = found.count
        if asked.content != recorded.content {
            let content = contentDifference(from: recorded)
            weight += max(1, content.count)
            found.append(content.difference)
        }
        if let best, best.weight <= weight { return }
        best = (weight, found, recorded)
    }

    /// - Returns: the first difference, and the number of differing values.
    private func contentDifference(from recorded: JobRequest) -> (difference: Difference, count: Int) {
        guard let mine = asked.members, let theirs = recorded.members else { return (.content, 1) }
        let found = ContentDifference(mine, from: theirs)
        return (found.pointer.map { .member(Self.cut($0), found.change) } ?? .form, found.count)
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
        case .member(let pointer, .changed): "the content's member '\(Self.shown(pointer))' has another value"
        case .member(let pointer, .added): "the content's member '\(Self.shown(pointer))' was absent"
        case .member(let pointer, .missing): "the content's member '\(Self.shown(pointer))' is absent"
        case .form: "the content differs only in its form, or in members that are not compared"
        case .origin(let asked, let recorded): "the origin is '\(asked)', and was '\(recorded)'"
        }
    }

    /// Returns a pointer without control characters, which a client can put into names.
    private static func shown(_ pointer: String) -> String {
        var shown = ""
        for scalar in pointer.unicodeScalars {
            shown.unicodeScalars.append(scalar.properties.generalCategory == .control ? "?" : scalar)
        }
        return shown
    }

    private static func text(_ value: String?) -> String { value.map { "'\($0)'" } ?? "absent" }
}

extension NearestRequest {
    /// The nearest request as responses and messages show it; `nil` if none has the same method and
    /// path.
    package var report: NearestRecorded? {
        guard let nearest else { return nil }
        var report = NearestRecorded(method: nearest.method.rawValue, url: nearest.target.redacted)
        report.difference = difference?.description
        switch difference {
        case .origin: report.differs = "origin"
        case .parameter(let name, _, _): (report.differs, report.name) = ("query", name)
        case .field(let name, _, _): (report.differs, report.name) = ("field", name)
        case .member(let pointer, _): (report.differs, report.name) = ("content", pointer)
        case .content, .form: report.differs = "content"
        case nil: break
        }
        return report
    }
}
