import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HoldfastError {
    /// Creates the error for content that cannot be decoded as the expected type.
    ///
    /// The message states the location but not the value, because content may contain secrets.
    init(undecodable error: any Error, type: any Decodable.Type, in input: ContentDecoding.Input) {
        self.init(undecodable: error, type: type, subject: "The content of '\(input.target)'")
        status = input.status
        body = Array(input.data)
    }

    /// Creates the error for a value that is not of the expected type. The message starts with
    /// `subject`.
    init(undecodable error: any Error, type: Any.Type, subject: String) {
        self.init(
            code: .decodingFailed,
            message: "\(subject) is not of type '\(type)': \(error.faultWithoutValues)",
            codingPath: error.codingPath,
            cause: error
        )
    }

    /// Creates the error for an envelope that reports a failure.
    ///
    /// The envelope's code and message come from the origin, so the error's message does not
    /// include them.
    init(failed result: EnvelopeResult, in input: ContentDecoding.Input? = nil) {
        self.init(
            code: .envelope,
            message: "The content \(input.map { "of '\($0.target)' " } ?? "")reports that the request failed; "
                + "'envelope' has its code and message.",
            status: input?.status,
            body: input.map { Array($0.data) },
            envelope: result
        )
    }
}

extension Error {
    /// The path at which a decoding error occurred.
    var codingPath: ValuePath? {
        switch self as? DecodingError {
        case .keyNotFound(let key, let context): return ValuePath(context.codingPath + [key])
        case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
            return ValuePath(context.codingPath)
        case nil: return nil
        @unknown default: return nil
        }
    }

    /// The text of a decoding error without the values at its location.
    var faultWithoutValues: String {
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
