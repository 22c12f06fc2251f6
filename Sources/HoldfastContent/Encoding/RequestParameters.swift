/// The named parameters of a request.
///
/// ```swift
/// let parameters: RequestParameters = ["page": page, "q": text, "on": flag, "filter": filter]
/// ```
///
/// A value can be any `Encodable` value. `nil` omits the parameter; ``ParameterValue/null`` is
/// JSON's `null`. Members of different types form an object: `.object(["author": id, "on": flag])`.
/// If a value cannot be encoded, the request fails with code `encodingFailed`.
///
/// Parameters have no order. Encoders sort them, including nested parameters, so equal parameters
/// have equal bytes and the same cache key in every process.
public struct RequestParameters: Sendable, Hashable {
    /// The values, keyed by name.
    public var values: [String: ParameterValue]
    /// The encoding errors, keyed by name. The key `nil` is for all parameters together.
    private var faults: [String?: String] = [:]

    /// Creates parameters from a dictionary.
    public init(_ values: [String: ParameterValue] = [:]) {
        self.values = values
    }

    /// Creates parameters from the members of a value, with their encoded names.
    ///
    /// ```swift
    /// let operation = GraphQLOperation(document, variables: RequestParameters(input))
    /// ```
    ///
    /// If the value has no names (an array, a number), the request fails with code
    /// `encodingFailed`.
    public init(_ value: some Encodable) {
        values = [:]
        do {
            if case .object(let parameters) = try ParameterValue(encoding: value) {
                self = parameters
            } else {
                faults[nil] = "The parameters of type '\(type(of: value))' have no names."
            }
        } catch {
            faults[nil] = "\(error)"
        }
    }

    /// The value for a name; `nil` if there is none.
    public subscript(name: String) -> ParameterValue? {
        get { values[name] }
        set { set(name, to: newValue) }
    }

    /// Sets a name to any `Encodable` value; `nil` omits the parameter.
    ///
    /// ```swift
    /// parameters["page"] = page
    /// ```
    public subscript<Value: Encodable>(name: String) -> Value? {
        @available(*, unavailable, message: "Read a ParameterValue: parameters.values[name].")
        get { nil }
        set { set(name, to: newValue) }
    }

    /// Returns the parameters of both. If a name is in both, `other`'s value is used.
    public func merging(_ other: RequestParameters) -> RequestParameters {
        if other.isEmpty { return self }
        var merged = RequestParameters(values.merging(other.values) { $1 })
        merged.faults = faults.merging(other.faults) { $1 }
        for case let name? in other.faults.keys where other.values[name] == nil { merged.values[name] = nil }
        return merged
    }

    /// Whether there are no parameters, including parameters that could not be encoded.
    package var isEmpty: Bool { values.isEmpty && faults.isEmpty }

    /// Checks that all values could be encoded.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` if a value could not be encoded.
    package func check() throws {
        if faults.isEmpty { return }
        let faults = faults.filter { name, _ in name.map { values[$0] == nil } ?? true }
        guard let message = faults.values.min() else { return }
        throw HoldfastError(code: .encodingFailed, message: message)
    }

    /// Returns the values in the order in which they are written, which is by the UTF-8 bytes of
    /// their names.
    ///
    /// - Throws: the errors of ``check()``.
    package func sorted() throws -> [(name: String, value: ParameterValue)] {
        try check()
        return values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }

    private mutating func set(_ name: String, to value: (any Encodable)?) {
        values[name] = nil
        faults[name] = nil
        do {
            if let value { values[name] = try ParameterValue(encoding: value) }
        } catch {
            faults[name] = "The parameter '\(name)' could not be encoded. \(error)"
        }
    }
}

extension RequestParameters: ExpressibleByDictionaryLiteral {
    /// Creates parameters. If a name occurs twice, the last value is used.
    public init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        values = Dictionary(minimumCapacity: elements.count)
        for (name, value) in elements { set(name, to: value) }
    }

    /// Unavailable, because the values of an `Any` dictionary have no known encoding.
    @available(*, unavailable, message: "Write the values in a literal, [\"page\": page], or pass an Encodable value.")
    public init(_ values: [String: Any]) { fatalError("Unavailable.") }
}
