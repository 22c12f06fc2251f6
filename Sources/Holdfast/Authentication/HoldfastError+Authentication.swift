import HTTPCache
import HoldfastContent

/// A token source did not respond in time.
struct SourceTimeout: Error {}

extension HoldfastError {
    static func loginRequired(_ cause: (any Error)? = nil) -> HoldfastError {
        HoldfastError(
            code: .loginRequired,
            message: "There is no token, and the user must log in again to get one.",
            cause: cause
        )
    }

    static func nothingErased() -> HoldfastError {
        HoldfastError(
            code: .noClient,
            message:
                "The session has ended, but nothing was erased, because no open client has this 'TokenAuthenticator' "
                + "as a plugin. Call 'removeResponses(of:)' on the store."
        )
    }

    /// Converts a token source's failure to the error that waiting requests receive. The source's
    /// own text stays in the cause, because the text may contain anything.
    init(ofSource error: any Error) {
        switch error {
        case is LoginRequired: self = .loginRequired(error)
        case let error as HoldfastError where error.code == .loginRequired: self = error
        case _ where error.isOverload:
            self.init(
                code: .overloaded,
                message:
                    "There is no valid token, and too many requests are in flight to fetch one. Try again later.",
                cause: error
            )
        case _ where error.isUnreachableNetwork:
            self.init(
                code: .originUnreachable,
                message: "There is no valid token, and the token source is unreachable.",
                cause: error
            )
        default:
            self.init(
                code: .authenticationFailed,
                message: "There is no valid token, and the token source failed with '\(type(of: error))'.",
                cause: error
            )
        }
    }

    /// Whether the call fails with this error even if a stored response exists, because there is no
    /// valid token for a reason other than the network.
    var isAuthenticationRejection: Bool { code == .loginRequired || code == .authenticationFailed }
}

extension Error {
    fileprivate var isOverload: Bool {
        switch self {
        case let error as HoldfastError: error.code == .overloaded
        case let error as ExchangeError: error.code == .overloaded
        case let error as TransportError: error.code == .overloaded || error.code == .outOfDescriptors
        default: false
        }
    }

    fileprivate var isUnreachableNetwork: Bool {
        switch self {
        case is SourceTimeout: true
        case let error as HoldfastError: error.isNetworkFailure
        case let error as ExchangeError: error.code == .originUnreachable || error.code == .offlineMiss
        case let error as TransportError: error.code.isUnreachable
        default: false
        }
    }
}
