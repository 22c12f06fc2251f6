/// A property that may be missing in the content. A missing or null property gets its default.
///
/// ```swift
/// struct Moment: Codable {
///     var id: String  // required: without it there is no moment
///     @Default<Fallback.False> var isLiked: Bool
///     @Default<Fallback.Empty<[String]>> var photos: [String]
///     @Default<Kind> var kind: Kind
/// }
/// enum Kind: String, Codable, DefaultProviding {
///     case link = "URL", photos = "PHOTOS", other
///     static let defaultValue = Kind.other
/// }
/// ```
///
/// A memberwise initializer requires all properties, except properties with a default in Swift (`=
/// false`). If the content has a value of another type, decoding fails, and the default is not
/// used: a model is either complete or an error.
@propertyWrapper
public struct Default<Source: DefaultProviding> {
    /// The property's value or the default.
    public var wrappedValue: Source.Value

    /// Creates a property with a value.
    public init(wrappedValue: Source.Value) {
        self.wrappedValue = wrappedValue
    }
}

/// Provides a default for ``Default``. A type can provide its own default.
public protocol DefaultProviding {
    /// The property's type; the conforming type itself by default.
    associatedtype Value: Decodable = Self
    /// The value of a missing property.
    static var defaultValue: Value { get }
}

/// Defaults for common types.
public enum Fallback {
    /// The default `false`.
    public enum False: DefaultProviding {
        /// Always `false`.
        public static var defaultValue: Bool { false }
    }
    /// The default `true`.
    public enum True: DefaultProviding {
        /// Always `true`.
        public static var defaultValue: Bool { true }
    }
    /// The default 0, for any numeric type.
    public enum Zero<Value: Numeric & Decodable>: DefaultProviding {
        /// Always 0.
        public static var defaultValue: Value { .zero }
    }
    /// The default of an empty string.
    public enum EmptyString: DefaultProviding {
        /// Always the empty string.
        public static var defaultValue: String { "" }
    }
    /// The default of an empty array or set.
    public enum Empty<Value: ExpressibleByArrayLiteral & Decodable>: DefaultProviding {
        /// Always empty.
        public static var defaultValue: Value { [] }
    }
    /// The default of an empty dictionary.
    public enum EmptyDictionary<Value: ExpressibleByDictionaryLiteral & Decodable>: DefaultProviding {
        /// Always empty.
        public static var defaultValue: Value { [:] }
    }
}

extension Default: Decodable {
    /// Decodes the value; null becomes the default.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? Source.defaultValue : try container.decode(Source.Value.self)
    }
}

extension Default: Encodable where Source.Value: Encodable {
    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    /// Decodes a property. A missing or null property gets the default.
    public func decode<Source>(_ type: Default<Source>.Type, forKey key: Key) throws -> Default<Source> {
        Default(wrappedValue: try decodeIfPresent(Source.Value.self, forKey: key) ?? Source.defaultValue)
    }
}

extension Default: Sendable where Source.Value: Sendable {}
extension Default: Equatable where Source.Value: Equatable {}
extension Default: Hashable where Source.Value: Hashable {}
