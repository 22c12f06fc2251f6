public import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A reusable step for processing a result: from bytes to an object, an array of objects, a model,
/// or an array of models.
///
/// ```swift
/// extension ResultStep where Input == [String: AnyJSON], Output == [AnyJSON] {
///     static var moments: Self { ResultStep { $0["moments"]?.elements } }
/// }
/// let moments = result.step(.dictionary).step(.moments).step(.models(Moment.self))
/// ```
public struct ResultStep<Input, Output>: Sendable {
    /// Transforms the input; returns `nil` if it is malformed.
    public let transform: @Sendable (Input) throws -> Output?

    /// Creates a step.
    public init(_ transform: @escaping @Sendable (Input) throws -> Output?) {
        self.transform = transform
    }

    /// Returns a step that runs this step and then another.
    public func then<Next>(_ next: ResultStep<Output, Next>) -> ResultStep<Input, Next> {
        ResultStep<Input, Next> { input in try transform(input).flatMap(next.transform) }
    }
}

/// The input of steps that produce objects and models: bytes, or a value that was already read.
public protocol StepInput: Sendable {
    /// Decodes the input.
    ///
    /// - Throws: the decoder's error.
    func decoded<Value: Decodable>(_ type: Value.Type, by decoder: any ResponseDecoder) throws -> Value
}

extension Data: StepInput {
    /// Decodes the bytes.
    public func decoded<Value: Decodable>(_ type: Value.Type, by decoder: any ResponseDecoder) throws -> Value {
        try decoder.decode(type, from: self)
    }
}

extension AnyJSON: StepInput {
    /// Decodes the value.
    public func decoded<Value: Decodable>(_ type: Value.Type, by decoder: any ResponseDecoder) throws -> Value {
        if let value = self as? Value { return value }
        return try decoder.decode(type, from: JSONEncoder().encode(self))
    }
}

extension Dictionary: StepInput where Key == String, Value == AnyJSON {
    /// Decodes the object.
    public func decoded<Model: Decodable>(_ type: Model.Type, by decoder: any ResponseDecoder) throws -> Model {
        try AnyJSON.object(self).decoded(type, by: decoder)
    }
}

extension Array: StepInput where Element: StepInput & Encodable {
    /// Decodes the array.
    public func decoded<Model: Decodable>(_ type: Model.Type, by decoder: any ResponseDecoder) throws -> Model {
        try decoder.decode(type, from: JSONEncoder().encode(self))
    }
}

extension ResultStep where Input: StepInput, Output == AnyJSON {
    /// Decodes a JSON value of any kind.
    public static var value: Self { ResultStep { try $0.decoded(AnyJSON.self, by: JSONDecoder()) } }
}

extension ResultStep where Input: StepInput, Output == [String: AnyJSON] {
    /// Decodes an object, and rejects any other value.
    public static var dictionary: Self { ResultStep { try $0.decoded(AnyJSON.self, by: JSONDecoder()).members } }
}

extension ResultStep where Input: StepInput, Output == [[String: AnyJSON]] {
    /// Decodes an array of objects, and rejects any other value or element.
    public static var dictionaries: Self {
        ResultStep { input in
            guard let elements = try input.decoded(AnyJSON.self, by: JSONDecoder()).elements else { return nil }
            let dictionaries = elements.compactMap(\.members)
            return dictionaries.count == elements.count ? dictionaries : nil
        }
    }
}

extension ResultStep where Input: StepInput, Output: Decodable & SendableMetatype {
    /// Decodes a complete model or fails.
    ///
    /// - Parameter decoder: the decoder; by default, JSON with ISO 8601 dates.
    public static func model(
        _ type: Output.Type,
        decoder: any ResponseDecoder = CachingClient.Configuration.defaultDecoder
    ) -> Self {
        ResultStep { try $0.decoded(Output.self, by: decoder) }
    }

    /// Decodes an array of models. If any model is incomplete, the step fails.
    ///
    /// - Parameter decoder: the decoder; by default, JSON with ISO 8601 dates.
    public static func models<Model: Decodable & SendableMetatype>(
        _ type: Model.Type,
        decoder: any ResponseDecoder = CachingClient.Configuration.defaultDecoder
    ) -> Self where Output == [Model] {
        ResultStep { try $0.decoded([Model].self, by: decoder) }
    }
}
