import HTTPTypes
import HoldfastContent

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
