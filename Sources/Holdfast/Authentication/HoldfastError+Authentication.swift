import HTTPCache

/// A token source did not answer in time.
struct SourceTimeout: Error {}

extension HoldfastError {
    static func loginRequired(_ cause: (any Error)? = nil) -> HoldfastError {
        HoldfastError(
            code: .loginRequired,
            message: "There is no token, and none is to be had before the user has logged in again.",
            cause: cause
        )
    }

    /// What a token source's failure means for the requests that wait for it. Its own words stay in
    /// the cause: nobody knows what is in them.
    init(ofSource error: any Error) {
        switch error {
        case is LoginRequired: self = .loginRequired(error)
        case let error as HoldfastError where error.code == .loginRequired: self = error
        case _ where error.isOverload:
            self.init(
                code: .overloaded,
                message:
                    "There is no valid token, and too many requests were under way to ask for one. Try again later.",
                cause: error
            )
        case _ where error.saysNetworkIsAway:
            self.init(
                code: .originUnreachable,
                message: "There is no valid token, and the source of tokens could not be reached.",
                cause: error
            )
        default:
            self.init(
                code: .authenticationFailed,
                message: "There is no valid token, and the source of tokens failed with '\(type(of: error))'.",
                cause: error
            )
        }
    }

    /// Whether a call whose request needs authentication fails with it, whatever is stored: it was
    /// answered.
    var isRefusedAuthentication: Bool { code == .loginRequired || code == .authenticationFailed }
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

    fileprivate var saysNetworkIsAway: Bool {
        switch self {
        case is SourceTimeout: true
        case let error as HoldfastError: error.isOfTheNetwork
        case let error as ExchangeError: error.code == .originUnreachable || error.code == .offlineMiss
        case let error as TransportError: error.code.isUnreachable
        default: false
        }
    }
}
