import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

extension HoldfastError {
    /// Creates the error of a redirect that cannot be followed.
    ///
    /// - Parameter hops: the hops up to the response with this head.
    init(_ fault: RedirectFault, _ head: HTTPResponse, _ hops: Hops) {
        let why =
            switch fault {
            case .loop: "It leads to a request that was sent before: the redirects are a loop."
            case .tooMany: "The limit of \(RedirectChain.limit) redirects was reached."
            case .invalidLocation:
                "Its 'Location' is not a URL that can be followed: an 'http' or 'https' URL or a reference, without user information."
            case .insecure: "It leads from 'https' to 'http'. Use a URL that stays encrypted."
            case .contentIsGone:
                "The request's content would have to be sent again, but can be read only once. Use the final URL."
            }
        self.init(
            code: .redirectFailed,
            message: "A redirect with status \(head.status.code) was not followed. \(why)" + hops.trail,
            status: head.status,
            cause: fault
        )
    }

    /// Returns this error with the redirects that led to the response.
    func naming(_ redirects: FollowedRedirects) -> HoldfastError {
        var error = self
        error.message += redirects.trail
        return error
    }
}
