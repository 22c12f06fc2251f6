/// The result of a search at a path.
package enum Found<Value> {
    case value(Value)
    /// The value is missing, or an object or array on the path is missing.
    case missing(at: ValuePath)
    /// The value is null, or an object or array on the path is null.
    case null(at: ValuePath)

    /// The value; `nil` if there is none.
    package var value: Value? {
        if case .value(let value) = self { value } else { nil }
    }
}

extension ValuePath {
    /// Finds the value at this path, starting at the top level of `decoder`.
    ///
    /// - Throws: `DecodingError` if a container on the path is neither an object nor an array, or
    ///   if the value has a different type.
    package func find<Value: Decodable>(_ type: Value.Type, from decoder: any Decoder) throws -> Found<Value> {
        var decoder = decoder
        for (depth, step) in steps.enumerated() {
            if try decoder.singleValueContainer().decodeNil() {
                return .null(at: ValuePath(Array(steps[..<depth])))
            }
            guard let next = try decoder.below(step) else {
                return .missing(at: ValuePath(Array(steps[...depth])))
            }
            decoder = next
        }
        let container = try decoder.singleValueContainer()
        guard container.decodeNil() else { return .value(try container.decode(type)) }
        // Optionals accept null as a value, and so may other types.
        return (try? container.decode(type)).map(Found.value) ?? .null(at: self)
    }

    /// Returns the value at this path. A missing or null value becomes `nil` for an optional, and
    /// an error for other types.
    ///
    /// - Throws: `DecodingError`, with a coding path from the top level.
    package func read<Value: Decodable>(_ type: Value.Type, from decoder: any Decoder) throws -> Value {
        switch try find(type, from: decoder) {
        case .value(let value): return value
        case .missing(let place):
            if let absent = type.absent { return absent }
            let keys = place.codingPath
            throw DecodingError.keyNotFound(
                keys.last ?? PathKey(stringValue: ""),
                context(Array(keys.dropLast()), endedAt: place)
            )
        case .null(let place):
            if let absent = type.absent { return absent }
            throw DecodingError.valueNotFound(type, context(place.codingPath, endedAt: place))
        }
    }

    private var codingPath: [any CodingKey] { steps.map(PathKey.init) }

    private func context(_ codingPath: [any CodingKey], endedAt place: ValuePath) -> DecodingError.Context {
        DecodingError.Context(
            codingPath: codingPath,
            debugDescription: "'\(self)' is missing.",
            underlyingError: place == self ? nil : UnreachedPath(path: self)
        )
    }
}

/// The path that could not be followed to its end. It is the cause of an error that states where
/// the search ended.
struct UnreachedPath: Error {
    let path: ValuePath
}

extension Decoder {
    /// Returns the decoder for a member or an element; `nil` if there is none.
    fileprivate func below(_ step: ValuePath.Step) throws -> (any Decoder)? {
        if case .index(let index) = step, var elements = try? unkeyedContainer() {
            guard index >= 0 else { return nil }
            while elements.currentIndex < index, !elements.isAtEnd { _ = try elements.superDecoder() }
            return elements.isAtEnd ? nil : try elements.superDecoder()
        }
        let key = PathKey(stringValue: PathKey(step).stringValue)
        let members = try container(keyedBy: PathKey.self)
        return members.contains(key) ? try members.superDecoder(forKey: key) : nil
    }
}

/// A name or an index in a path.
package struct PathKey: CodingKey {
    package let stringValue: String
    package let intValue: Int?

    package init(_ step: ValuePath.Step) {
        switch step {
        case .name(let name): (stringValue, intValue) = (name, nil)
        case .index(let index): (stringValue, intValue) = (String(index), index)
        }
    }

    package init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
    package init(intValue: Int) { (stringValue, self.intValue) = (String(intValue), intValue) }
}

/// A type that can represent absence. Only optionals can.
private protocol Absentable {
    static var absence: Self { get }
}

extension Optional: Absentable {
    fileprivate static var absence: Self { nil }
}

extension Decodable {
    /// The value that represents absence, if this type is an optional; otherwise there is none.
    package static var absent: Self? {
        func absence<Other: Absentable>(_ type: Other.Type) -> Self? { type.absence as? Self }
        return (self as? any Absentable.Type).flatMap { absence($0) }
    }
}
