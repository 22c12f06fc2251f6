extension Error {
    /// The path at which a decoding error occurred.
    package var codingPath: ValuePath? {
        switch self as? DecodingError {
        case .keyNotFound(let key, let context): return ValuePath(context.codingPath + [key])
        case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
            return ValuePath(context.codingPath)
        case nil: return nil
        @unknown default: return nil
        }
    }

    /// The text of a decoding error without the values at its location.
    package var faultWithoutValues: String {
        let place = codingPath.map { $0.isEmpty ? "the top level" : "'\($0)'" } ?? ""
        switch self as? DecodingError {
        case .keyNotFound(_, let context): return "\(place) is missing\(context.goal)."
        case .valueNotFound(let type, let context):
            return "\(place) is null where '\(type)' is required\(context.goal)."
        case .typeMismatch(let type, _): return "\(place) is not of type '\(type)'."
        case .dataCorrupted: return "\(place) is malformed."
        case nil: return "\(Self.self)."
        @unknown default: return "\(Self.self)."
        }
    }
}

extension DecodingError.Context {
    /// The requested path, if it continues past the location of the error.
    fileprivate var goal: String {
        (underlyingError as? UnreachedPath).map { "; '\($0.path)' was requested" } ?? ""
    }
}
