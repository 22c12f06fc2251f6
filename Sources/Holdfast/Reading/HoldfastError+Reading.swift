import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension HoldfastError {
    /// Content that is no value of the expected type.
    ///
    /// The message names the place and not what stood there: content may hold secrets.
    init(undecodable error: any Error, type: any Decodable.Type, in answer: ContentDecoding.Answer) {
        self.init(undecodable: error, type: type, subject: "The content of '\(answer.target)'")
        status = answer.status
        body = Array(answer.data)
    }

    /// Something (`subject`, as a sentence begins) that is no value of the expected type.
    init(undecodable error: any Error, type: Any.Type, subject: String) {
        self.init(
            code: .decodingFailed,
            message: "\(subject) is no '\(type)': \(error.faultWithoutValues)",
            codingPath: error.codingPath,
            cause: error
        )
    }

    /// An envelope that says failure.
    ///
    /// Its code and message are the origin's words, so that they are not in the error's message.
    init(failed result: EnvelopeResult, in answer: ContentDecoding.Answer? = nil) {
        self.init(
            code: .envelope,
            message: "The content \(answer.map { "of '\($0.target)' " } ?? "")says that the request failed; "
                + "'envelope' has its code and message.",
            status: answer?.status,
            body: answer.map { Array($0.data) },
            envelope: result
        )
    }
}

extension Error {
    /// Where a decoding error occurred.
    var codingPath: ValuePath? {
        switch self as? DecodingError {
        case .keyNotFound(let key, let context): return ValuePath(context.codingPath + [key])
        case .valueNotFound(_, let context), .typeMismatch(_, let context), .dataCorrupted(let context):
            return ValuePath(context.codingPath)
        case nil: return nil
        @unknown default: return nil
        }
    }

    /// What a decoding error says about the place, without the values that stood there.
    var faultWithoutValues: String {
        let place = codingPath.map { $0.isEmpty ? "the top level" : "'\($0)'" } ?? ""
        switch self as? DecodingError {
        case .keyNotFound(_, let context): return "\(place) is missing\(context.goal)."
        case .valueNotFound(let type, let context):
            return "\(place) is null where '\(type)' is required\(context.goal)."
        case .typeMismatch(let type, _): return "\(place) is no '\(type)'."
        case .dataCorrupted: return "\(place) is malformed."
        case nil: return "\(Self.self)."
        @unknown default: return "\(Self.self)."
        }
    }
}

extension DecodingError.Context {
    /// The path that was to be reached, where it goes on beyond the place.
    fileprivate var goal: String {
        (underlyingError as? UnreachedPath).map { "; '\($0.path)' was wanted" } ?? ""
    }
}
