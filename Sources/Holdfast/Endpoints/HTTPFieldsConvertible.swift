public import HTTPTypes
import HoldfastContent

/// A type for ``Endpoint/headers``: `HTTPFields` or `[String: String]`.
///
/// ```swift
/// var headers: HTTPFields { [.accept: "text/html"] }
/// var headers: [String: String] { ["x-app-platform": "iOS"] }
/// ```
public protocol HTTPFieldsConvertible: Sendable {
    /// Returns the fields.
    ///
    /// - Throws: `HoldfastError` with code `encodingFailed` if a name is not valid.
    func httpFields() throws -> HTTPFields
}

extension HTTPFields: HTTPFieldsConvertible {
    /// The fields themselves.
    public func httpFields() -> HTTPFields { self }

    /// Creates fields from names as strings, sorted by name.
    ///
    /// ```swift
    /// configuration.defaults.fields = try HTTPFields(named: ["x-app-platform": "iOS"])
    /// ```
    ///
    /// - Throws: `HoldfastError` with code `encodingFailed` if a name is not valid. RFC 9110 §5.1
    public init(named values: [String: String]) throws {
        self.init()
        for (text, value) in values.sorted(by: { $0.key < $1.key }) {
            guard let name = HTTPField.Name(text) else {
                throw HoldfastError(
                    code: .encodingFailed,
                    message:
                        "'\(text)' is not a valid field name. A name may contain only letters, digits and \"!#$%&'*+-.^_`|~\"."
                )
            }
            append(HTTPField(name: name, value: value))
        }
    }
}

extension Dictionary: HTTPFieldsConvertible where Key == String, Value == String {
    /// See `HTTPFields.init(named:)`.
    public func httpFields() throws -> HTTPFields { try HTTPFields(named: self) }
}
