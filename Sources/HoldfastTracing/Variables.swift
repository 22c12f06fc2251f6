import HTTPCacheSemantics

/// Reads environment variables. Unknown values are ignored with a warning, as OpenTelemetry
/// requires.
struct Variables {
    /// The endings of warnings.
    static let ignored = "The variable is ignored."
    static let noTraces = "No traces are sent."

    private let environment: [String: String]
    private let warn: (String) -> Void

    init(_ environment: [String: String], warn: @escaping (String) -> Void) {
        self.environment = environment
        self.warn = warn
    }

    /// Returns a variable's value; `nil` if the variable is not set. OpenTelemetry treats an empty
    /// variable as unset.
    subscript(name: String) -> String? {
        guard let value = environment[name], !value.isEmpty else { return nil }
        return value
    }

    /// Returns the name of the variable for traces if that variable is set, otherwise the name of
    /// the variable for all signals.
    func nameForTraces(_ setting: String) -> String {
        let own = "OTEL_EXPORTER_OTLP_TRACES_\(setting)"
        return self[own] == nil ? "OTEL_EXPORTER_OTLP_\(setting)" : own
    }

    private func warn(
        _ name: String,
        _ value: String,
        takes allowed: String,
        _ consequence: String = Variables.ignored
    ) {
        warn("'\(name)' in the environment must be \(allowed), not '\(value)'. \(consequence)")
    }

    /// Whether traces are exported through OTLP.
    var exportsTraces: Bool {
        guard let value = self["OTEL_TRACES_EXPORTER"], value != "none" else {
            return self["OTEL_TRACES_EXPORTER"] == nil
        }
        // A program may have several exporters.
        if value.split(separator: ",").contains(where: { $0.filter { $0 != " " } == "otlp" }) { return true }
        warn("OTEL_TRACES_EXPORTER", value, takes: "one of otlp, none", Self.noTraces)
        return false
    }

    func bool(_ name: String) -> Bool {
        guard let value = self[name] else { return false }
        switch value.lowercased() {
        case "true": return true
        case "false": return false
        default:
            warn(name, value, takes: "'true' or 'false'")
            return false
        }
    }

    /// The result of reading a variable whose value is one of several words.
    enum Choice: Equatable {
        case unset
        case known(String)
        case unknown
    }

    func choice(_ name: String, _ allowed: [String], otherwise consequence: String = Variables.ignored) -> Choice {
        guard let value = self[name] else { return .unset }
        if allowed.contains(value) { return .known(value) }
        let list = allowed.count == 1 ? "'\(allowed[0])'" : "one of \(allowed.joined(separator: ", "))"
        warn(name, value, takes: list, consequence)
        return .unknown
    }

    func number(_ name: String, _ range: ClosedRange<Int>, or standard: Int) -> Int {
        guard let value = self[name] else { return standard }
        if let number = Int(value), range.contains(number) { return number }
        warn(name, value, takes: "a number from \(range.lowerBound) to \(range.upperBound)")
        return standard
    }

    func ratio(_ name: String) -> Double {
        guard let value = self[name] else { return 1 }
        if let ratio = Double(value), (0...1).contains(ratio) { return ratio }
        warn(name, value, takes: "a number from 0 to 1")
        return 1
    }

    /// Reads pairs that are not fields. The result is empty if a pair is malformed.
    func pairs(_ name: String) -> [(name: String, value: String)] {
        do {
            return try pairs(name, areFields: false)
        } catch {
            warn("\(error.description) \(Self.ignored)")
            return []
        }
    }

    /// Reads pairs as in `baggage`: `name=value,name=value`, with percent-encoded values.
    ///
    /// - Parameter areFields: whether names and values must be valid for fields.
    /// - Throws: an error that does not show the value, which may contain secrets.
    func pairs(_ name: String, areFields: Bool) throws(InvalidSetting) -> [(name: String, value: String)] {
        var pairs: [(name: String, value: String)] = []
        for part in (self[name] ?? "").split(separator: ",") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, let key = Self.decoded(sides[0]), let value = Self.decoded(sides[1]), !key.isEmpty,
                !areFields || key.utf8.allSatisfy(\.isTokenByte) && value.utf8.allSatisfy(\.isFieldValueByte)
            else {
                throw InvalidSetting(
                    "'\(name)' in the environment must be a comma-separated list of pairs 'name=value', with other bytes "
                        + "percent-encoded. Pair \(pairs.count + 1) is not valid (values are not shown)."
                )
            }
            pairs.append((key, value))
        }
        return pairs
    }

    private static func decoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while rest.first == 0x20 { rest = rest.dropFirst() }
        while rest.last == 0x20 { rest = rest.dropLast() }
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
