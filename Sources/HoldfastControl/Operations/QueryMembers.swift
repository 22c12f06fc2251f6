import Hummingbird

/// Reads a request's query parameters, and rejects unknown parameters.
struct QueryMembers {
    private var members: [String: String] = [:]
    private var lists: [String: [String]] = [:]

    /// Reads the query parameters of a request.
    ///
    /// - Parameter repeatable: the parameters that may appear several times. ``texts(_:)`` returns
    ///   their values.
    /// - Throws: ``ControlProblem`` if another parameter appears twice.
    init(_ request: Request, repeatable: Set<String> = []) throws(ControlProblem) {
        for (name, value) in request.uri.queryParameters {
            if repeatable.contains(String(name)) {
                lists[String(name), default: []].append(String(value))
                continue
            }
            guard members.updateValue(String(value), forKey: String(name)) != nil else { continue }
            let name = ControlProblem.shown(String(name))
            throw ControlProblem(.invalidRequest, "'\(name)' occurs twice. Send it once.", field: name)
        }
    }

    /// Checks that a request has no query parameters.
    ///
    /// - Throws: ``ControlProblem``
    static func none(in request: Request) throws(ControlProblem) { try QueryMembers(request).end(known: []) }

    /// Reads a parameter. Returns `nil` if it is missing or empty.
    mutating func text(_ name: String) -> String? {
        members.removeValue(forKey: name).flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns the values of a repeatable parameter, in order.
    func texts(_ name: String) -> [String] { lists[name] ?? [] }

    mutating func number(_ name: String, _ range: ClosedRange<Int64>) throws(ControlProblem) -> Int64? {
        guard let text = members.removeValue(forKey: name) else { return nil }
        if let number = Int64(text), range.contains(number) { return number }
        throw ControlProblem(
            .invalidRequest,
            "'\(name)' must be a number from \(range.lowerBound) to \(range.upperBound), not '\(ControlProblem.shown(text))'.",
            field: name,
            value: text,
            limit: Int(range.upperBound)
        )
    }

    /// Rejects the parameters that were not read.
    func end(known: [String]) throws(ControlProblem) {
        guard let name = members.keys.min() else { return }
        let list = known.map { "'\($0)'" }.joined(separator: ", ")
        let rest = known.isEmpty ? "The operation has no parameters." : "Known names: \(list)."
        throw ControlProblem(
            .invalidRequest,
            "'\(ControlProblem.shown(name))' is unknown. \(rest)",
            field: ControlProblem.shown(name),
            value: members[name]
        )
    }
}
