import HTTPCacheSemantics
import HoldfastContent

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A path whose interpolated values are data: each value stays within one segment.
///
/// ```swift
/// enum GitHub: Endpoint {
///     case file(owner: String, name: String)
///     var path: URLPath {
///         switch self {
///         case .file(let owner, let name): "/users/\(owner)/files/\(name)"
///         }
///     }
/// }
/// ```
///
/// Every byte of a value is percent-encoded, except RFC 3986's unreserved characters: `a/b?c`
/// becomes `a%2Fb%3Fc`. Two kinds of values cannot be encoded, and make the call fail with code
/// `invalidURL`:
///
/// - An empty value before any `?`, because the path would name another resource (`/users/`).
/// - A value that makes a segment read as `.` or `..`, because servers resolve these segments even
///   if they are encoded.
///
/// RFC 3986 §3.3
public struct URLPath: Sendable, Hashable, CustomStringConvertible {
    /// The path with its values percent-encoded.
    public let text: String
    /// Whether a value in the path is empty.
    private let lacksValue: Bool

    /// Creates a path from text that is used unchanged. The caller is responsible for its encoding.
    /// A `?` starts a query.
    public init(raw text: String) {
        self.text = text
        lacksValue = false
    }

    /// Creates a path from segments, each of which is a value. If there are none, the path is
    /// empty.
    ///
    /// ```swift
    /// URLPath(segments: ["files"] + folders + [name])
    /// ```
    public init(segments: [String]) {
        text = segments.map { "/" + $0.percentEncoded() }.joined()
        lacksValue = segments.contains("")
    }

    /// The same as ``text``.
    public var description: String { text }

    /// - Parameter owner: the path's owner, for an error message.
    /// - Throws: `HoldfastError` with code `invalidURL`.
    func check(of owner: @autoclosure () -> String) throws {
        guard lacksValue || PathNormalForm.hasDotSegment(text) else { return }
        let path = text.prefix { $0 != "?" }
        throw HoldfastError(
            code: .invalidURL,
            message: lacksValue
                ? "A value in the path of '\(owner())', '\(path)', is empty; the path would name another resource."
                : "The path of '\(owner())', '\(path)', has a segment that reads as '.' or '..'; it would lead to another resource."
        )
    }
}

extension URLPath: ExpressibleByStringInterpolation {
    /// Creates a path from a literal.
    public init(stringLiteral text: String) { self.init(raw: text) }

    /// Creates a path from an interpolated string.
    public init(stringInterpolation interpolation: Interpolation) {
        text = interpolation.text
        lacksValue = interpolation.lacksValue
    }

    /// Encodes the values in a path.
    public struct Interpolation: StringInterpolationProtocol {
        fileprivate var text = ""
        fileprivate var lacksValue = false
        private var isInQuery = false

        /// Creates an empty interpolation.
        public init(literalCapacity: Int, interpolationCount: Int) {
            text.reserveCapacity(literalCapacity + 16 * interpolationCount)
        }

        /// Appends text unchanged.
        public mutating func appendLiteral(_ literal: String) {
            if literal.utf8.contains(UInt8(ascii: "?")) { isInQuery = true }
            text += literal
        }

        /// Appends a value, such as a string, a number or a boolean.
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            let value = String(value)
            if value.isEmpty, !isInQuery { lacksValue = true }
            text += value.percentEncoded()
        }

        /// Appends a raw value, for example the raw value of an enum case.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: LosslessStringConvertible {
            appendInterpolation(value.rawValue)
        }

        /// Appends a UUID, in upper case.
        public mutating func appendInterpolation(_ value: UUID) {
            appendInterpolation(value.uuidString)
        }

        /// Appends text unchanged. The caller is responsible for its encoding.
        public mutating func appendInterpolation(raw text: String) {
            appendLiteral(text)
        }

        /// Unavailable, because there is no path without the value.
        @available(*, unavailable, message: "A path cannot contain nil. Unwrap the value first.")
        public mutating func appendInterpolation<Value>(_ value: Value?) {}
    }
}

/// A type for ``Endpoint/path``: ``URLPath``, or `String` for text without data.
public protocol URLPathConvertible: Sendable {
    /// The path.
    var urlPath: URLPath { get }
}

extension URLPath: URLPathConvertible {
    /// The path itself.
    public var urlPath: URLPath { self }
}

extension String: URLPathConvertible {
    /// The text, unchanged: see ``URLPath/init(raw:)``.
    public var urlPath: URLPath { URLPath(raw: self) }
}
