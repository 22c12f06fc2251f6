/// A property that may be missing in the content. If it is missing or null, it has its default.
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
/// A value made in code sets all properties, except those with a default of their own in Swift (`=
/// false`). A property of another type in the content is an error, and does not get the default: a
/// model is complete, or decoding fails.
@propertyWrapper
public struct Default<Source: DefaultProviding> {
    /// The property's value, or the default.
    public var wrappedValue: Source.Value

    /// Creates a property with a value.
    public init(wrappedValue: Source.Value) {
        self.wrappedValue = wrappedValue
    }
}

/// Names a default for ``Default``. A type can provide its own.
public protocol DefaultProviding {
    /// The property's type. The type itself by default.
    associatedtype Value: Decodable = Self
    /// The value of a missing property.
    static var defaultValue: Value { get }
}

/// Defaults for common types.
public enum Fallback {
    /// `false`
    public enum False: DefaultProviding {
        /// `false`
        public static var defaultValue: Bool { false }
    }
    /// `true`
    public enum True: DefaultProviding {
        /// `true`
        public static var defaultValue: Bool { true }
    }
    /// 0, of any type of number.
    public enum Zero<Value: Numeric & Decodable>: DefaultProviding {
        /// 0
        public static var defaultValue: Value { .zero }
    }
    /// The empty string.
    public enum EmptyString: DefaultProviding {
        /// The empty string.
        public static var defaultValue: String { "" }
    }
    /// An empty array or set.
    public enum Empty<Value: ExpressibleByArrayLiteral & Decodable>: DefaultProviding {
        /// Empty.
        public static var defaultValue: Value { [] }
    }
    /// An empty dictionary.
    public enum EmptyDictionary<Value: ExpressibleByDictionaryLiteral & Decodable>: DefaultProviding {
        /// Empty.
        public static var defaultValue: Value { [:] }
    }
}

extension Default: Decodable {
    /// Decodes the value; null is the default.
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
    /// Decodes a property. A missing or null one has the default.
    public func decode<Source>(_ type: Default<Source>.Type, forKey key: Key) throws -> Default<Source> {
        Default(wrappedValue: try decodeIfPresent(Source.Value.self, forKey: key) ?? Source.defaultValue)
    }
}

extension Default: Sendable where Source.Value: Sendable {}
extension Default: Equatable where Source.Value: Equatable {}
extension Default: Hashable where Source.Value: Hashable {}
