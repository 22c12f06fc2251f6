/// A violation, with all data to explain it.
struct Finding: Sendable {
    /// The rule that it breaks; one word, for tests.
    enum Rule: String, Sendable {
        case vanished, timeOut = "time-out", malformed, refused, otherResource = "other-resource"
        case otherPrincipal = "other-principal", unknownVersion = "unknown-version", status, tag, content
        case freshness, invalidation, tainted, age, interim, forwarded, uploaded, ended, store, unavailable
    }

    var rule: Rule
    var expected: String
    var got: String
    var exchange: ObservedExchange?
    /// The events of the resource that the oracle knows.
    var history: [String] = []

    /// The lines of a report.
    var lines: [String] {
        var lines = ["finding   \(rule.rawValue)"]
        if let exchange {
            let request = exchange.request
            let version = request.isHTTP2 ? " over HTTP/2" : ""
            lines += [
                "habit     \(request.habit.rawValue)",
                "request   \(request.method) \(request.resource.target)\(version)",
            ]
            let fields = request.fields.map { "          \($0.name): \($0.value.prefix(80))" }
            lines += fields
            if let content = request.content {
                lines.append("          and \(content.count) bytes of content\(request.isChunked ? ", chunked" : "")")
            }
            lines.append("          number \(exchange.place + 1) on its connection")
        }
        lines += ["expected  \(expected)", "got       \(got)"]
        if case .response(let response)? = exchange?.result {
            lines.append("response  \(response.status)")
            lines += response.fields.map { "          \($0.name): \($0.value.prefix(120))" }
            let start = response.content.prefix(120).split(separator: 10, maxSplits: 1).first ?? []
            lines.append("          \(response.content.count) bytes: \(String(decoding: start, as: UTF8.self))")
        }
        if !history.isEmpty { lines += ["history"] + history.map { "          " + $0 } }
        return lines
    }
}
