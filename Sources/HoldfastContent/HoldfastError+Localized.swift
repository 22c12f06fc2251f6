#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Human-readable texts, in English. Without them, `localizedDescription` would contain only the
/// type and a number. They contain no credentials and no values of secret parameters.
extension HoldfastError: LocalizedError {
    /// The message.
    public var errorDescription: String? { message }
    /// The meaning of the code; `nil` for a code of your own.
    public var failureReason: String? { code.words?.reason }
    /// The next step; `nil` if there is none, or if the code is your own.
    public var recoverySuggestion: String? { code.words?.nextStep }
}

extension HoldfastError.Code {
    /// The meaning of a code, and the next step.
    package struct Words {
        package var reason: String
        package var nextStep: String?

        init(_ reason: String, _ nextStep: String? = nil) {
            self.reason = reason
            self.nextStep = nextStep
        }
    }

    package var words: Words? { Self.words[self] }

    private static let words: [HoldfastError.Code: Words] = [
        .invalidURL: Words(
            "The request has no valid 'http' or 'https' URL.",
            "Correct the base URL and the path of the endpoint."
        ),
        .urlMissing: Words(
            "No base URL is known.",
            "Set 'baseURL' in the endpoint, or 'environment' in the client's configuration."
        ),
        .parametersMissing: Words("The request lacks parameters.", "Pass them in the endpoint's 'task'."),
        .invalidRule: Words(
            "The endpoint's own rule is invalid.",
            "Correct the endpoint's 'rule' or 'tags'."
        ),
        .encodingFailed: Words(
            "Parameters or content could not be encoded.",
            "Check the values and the encoder in the endpoint's 'task'."
        ),
        .offlineMiss: Words(
            "Nothing usable is stored, and the call may not use the network.",
            "Change the client's 'mode' or the call's strategy, or fetch the value while the network is up."
        ),
        .staleForbidden: Words(
            "A response is stored, but it may not be used without validation.",
            "Try again when the network may be used and the server is reachable. To override directives, set "
                + "'offlineReads' to '.despiteDirectives'."
        ),
        .originUnreachable: Words(
            "The server is unreachable, and nothing usable is stored.",
            "Check the network connection, and try again."
        ),
        .overloaded: Words("Too many requests are in flight, or no connection is free.", "Try again later."),
        .transportFailed: Words(
            "The exchange with the server failed.",
            "Try again. If it fails again, look at the error's 'cause'."
        ),
        .truncated: Words("The response broke off.", "Try again."),
        .status: Words(
            "The server responded with a status that the endpoint does not accept.",
            "Look at the error's 'status' and 'body'."
        ),
        .authenticationFailed: Words(
            "The server rejected the credentials, or none could be obtained.",
            "Log in again."
        ),
        .loginRequired: Words("The user is not logged in.", "Log in again."),
        .outdated: Words(
            "The server no longer serves this resource, or not to this version of the client.",
            "Update the client."
        ),
        .redirectFailed: Words(
            "The server's redirects cannot be followed.",
            "Look at the error's 'message', which names them, and correct the URL."
        ),
        .paginationFailed: Words(
            "The next page cannot be requested.",
            "Look at the error's 'message', which says why. Pages that arrived before stay stored."
        ),
        .notRepeatable: Words(
            "The endpoint changes data at the server, so its request is not repeated.",
            "Use 'fetch' for mutations. If the endpoint changes nothing, set its 'isMutation' to false."
        ),
        .timeout: Words("The call exceeded its time limit.", "Try again, or raise 'timeout'."),
        .envelope: Words("The content reports that the request failed.", "Look at the error's 'envelope'."),
        .graphQL: Words("The response has GraphQL errors.", "Look at the error's 'graphQLErrors'."),
        .dataFormat: Words(
            "The value does not have the expected form.",
            "Compare the value's type with the error's 'rejected' and 'body'."
        ),
        .noClient: Words(
            "No client was found.",
            "Pass a client with 'on(_:)', or set 'CachingClient.$current' around the call."
        ),
        .noData: Words(
            "The response has no content.",
            "Set 'emptyContent' in the endpoint, or use 'NoContent' as its response type."
        ),
        .decodingFailed: Words(
            "The content does not decode as the expected type.",
            "Compare the type with the error's 'codingPath' and 'body'."
        ),
        .bodyTooLarge: Words(
            "The content is larger than the limit.",
            "Raise 'maximumBodyBytes', or download the content to a file."
        ),
        .fileFailed: Words(
            "A file could not be created, written or moved into place.",
            "Check its path, its permissions and the free space."
        ),
        .closed: Words("The client or its store was closed.", "Open a client to call again."),
        .cancelled: Words("The call was canceled."),
    ]
}
