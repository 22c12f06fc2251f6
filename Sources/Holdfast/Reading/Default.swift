/// A property that need not be in the content: where it is missing or null, it keeps its default.
///
/// ```swift
/// struct Moment: Codable {
///     var id: String                                          // required: without it there is no moment
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
/// A value made by hand names them all, or those without a default of their own in Swift (`=
/// false`). What is there and of another type is an error, not the default: a model is whole or it
/// is none.
@propertyWrapper
public struct Default<Source: DefaultProviding> {
    /// What is in the content, or the default.
    public var wrappedValue: Source.Value

    /// A value.
    public init(wrappedValue: Source.Value) {
        self.wrappedValue = wrappedValue
    }
}

/// Names a default for ``Default``. A type can name one of its own.
public protocol DefaultProviding {
    /// The property's type; the type itself unless told otherwise.
    associatedtype Value: Decodable = Self
    /// The value of a property that is missing.
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
    /// What is there; the default where it is null.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        wrappedValue = container.decodeNil() ? Source.defaultValue : try container.decode(Source.Value.self)
    }
}

extension Default: Encodable where Source.Value: Encodable {
    /// As the value is.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(wrappedValue)
    }
}

extension KeyedDecodingContainer {
    /// Reads a property; the default where it is missing or null.
    public func decode<Source>(_ type: Default<Source>.Type, forKey key: Key) throws -> Default<Source> {
        Default(wrappedValue: try decodeIfPresent(Source.Value.self, forKey: key) ?? Source.defaultValue)
    }
}

extension Default: Sendable where Source.Value: Sendable {}
extension Default: Equatable where Source.Value: Equatable {}
extension Default: Hashable where Source.Value: Hashable {}
