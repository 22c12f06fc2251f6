/// Encodes parameters as `name=value&…`, for the query of a URL or as a form in the content
/// (`application/x-www-form-urlencoded`).
///
/// The encoding follows these rules:
/// - Parameters are sorted by the UTF-8 bytes of their names, including nested parameters.
/// - Every character except RFC 3986's unreserved characters is percent-encoded as UTF-8, without
///   normalization.
/// - `null` and empty arrays are omitted.
/// - Separators (`&`, `=`, the comma of ``Arrays/commaJoined``) are always escaped in values.
/// - Names at the top level may contain brackets and dots, so you can write `filter[author]`
///   yourself.
/// - A nested name that contains the nesting's own characters is an error, because it could be read
///   as a deeper name.
public struct URLParameterEncoder: Sendable, Hashable {
    /// The format of an array.
    public enum Arrays: Sendable, Hashable {
        /// `id=1&id=2`.
        case repeated
        /// `id[]=1&id[]=2`.
        case brackets
        /// `id[0]=1&id[1]=2`.
        case indexed
        /// `id=1,2`, for single values only. A comma in a value becomes `%2C`.
        case commaJoined
    }

    /// The format of nested names.
    public enum Nesting: Sendable, Hashable {
        /// `filter[author]=7`.
        case brackets
        /// `filter.author=7`.
        case dots
    }

    /// The format of a boolean.
    public enum Booleans: Sendable, Hashable {
        /// `true` and `false`.
        case words
        /// `1` and `0`.
        case digits
    }

    /// The format of a space. A literal `+` always becomes `%2B`.
    public enum Spaces: Sendable, Hashable {
        /// `%20`, which every server accepts.
        case percent
        /// `+`, which browsers use in forms.
        case plus
    }

    /// The format of arrays.
    public var arrays: Arrays
    /// The format of nested names.
    public var nesting: Nesting
    /// The format of booleans.
    public var booleans: Booleans
    /// The format of spaces.
    public var spaces: Spaces

    /// Creates an encoder. By default, it repeats names for arrays, and writes brackets, words and
    /// `%20`.
    public init(
        arrays: Arrays = .repeated,
        nesting: Nesting = .brackets,
        booleans: Booleans = .words,
        spaces: Spaces = .percent
    ) {
        self.arrays = arrays
        self.nesting = nesting
        self.booleans = booleans
        self.spaces = spaces
    }

    /// Encodes the parameters as a query without `?`. The query is empty if there are no
    /// parameters.
    ///
    /// - Throws: ``HoldfastError`` with code `encodingFailed` in these cases:
    ///   - a number is not finite
    ///   - an array whose elements are joined by commas contains an array or object
    ///   - a nested name contains the brackets or dots of the nesting
    public func query(_ parameters: RequestParameters) throws -> String {
        if parameters.isEmpty { return "" }
        var pairs: [String] = []
        for (name, value) in try parameters.sorted() { try append(value, as: escaped(name), to: &pairs) }
        return pairs.joined(separator: "&")
    }

    private func append(_ value: ParameterValue, as name: String, to pairs: inout [String]) throws {
        switch value {
        case .null: return
        case .array(let values): try append(values, as: name, to: &pairs)
        case .object(let parameters):
            for (inner, value) in try parameters.sorted() {
                try append(value, as: try nested(inner, in: name), to: &pairs)
            }
        case .boolean, .integer, .unsigned, .number, .string: pairs.append("\(name)=\(try single(value, of: name))")
        }
    }

    private func append(_ values: [ParameterValue], as name: String, to pairs: inout [String]) throws {
        if case .commaJoined = arrays {
            let texts = try values.filter { $0 != .null }.map { try single($0, of: name) }
            if !texts.isEmpty { pairs.append("\(name)=\(texts.joined(separator: ","))") }
            return
        }
        for (index, value) in values.enumerated() {
            let suffix =
                switch arrays {
                case .repeated, .commaJoined: ""
                case .brackets: "%5B%5D"
                case .indexed: nesting == .dots ? ".\(index)" : "%5B\(index)%5D"
                }
            try append(value, as: name + suffix, to: &pairs)
        }
    }

    /// Encodes and escapes a single value.
    private func single(_ value: ParameterValue, of name: String) throws -> String {
        switch value {
        case .boolean(let value): return booleans == .words ? (value ? "true" : "false") : (value ? "1" : "0")
        case .integer(let value): return "\(value)"
        case .unsigned(let value): return "\(value)"
        case .number(let value):
            guard value.isFinite else {
                throw Self.failure("The parameter '\(name)' is \(value); a query accepts only finite numbers.")
            }
            // A server would read the `+` of an exponent as a space.
            return escaped("\(value)")
        case .string(let value): return escaped(value)
        case .null, .array, .object:
            throw Self.failure(
                "The parameter '\(name)' has an array or object among comma-separated elements. Use 'repeated', 'brackets' or 'indexed'."
            )
        }
    }

    private func nested(_ inner: String, in name: String) throws -> String {
        let isAmbiguous =
            switch nesting {
            case .brackets: inner.utf8.contains { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
            case .dots: inner.utf8.contains(UInt8(ascii: "."))
            }
        guard !isAmbiguous else {
            throw Self.failure(
                "A name inside the parameter '\(name)' contains \(nesting == .dots ? "a dot" : "a bracket"), which the nesting uses as a separator. Choose the other nesting, or rename it."
            )
        }
        return nesting == .dots ? "\(name).\(escaped(inner))" : "\(name)%5B\(escaped(inner))%5D"
    }

    private static func failure(_ message: String) -> HoldfastError {
        HoldfastError(code: .encodingFailed, message: message)
    }

    private func escaped(_ text: String) -> String {
        text.percentEncoded(spaces: spaces)
    }
}
