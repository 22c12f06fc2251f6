import HTTPTypes
import HoldfastContent

extension HoldfastError {
    /// Creates the error of a page that is not requested. It does not show the link, because the
    /// link may contain a secret.
    ///
    /// - Parameter status: the status of the page with the link or the cursor.
    init(_ fault: PageTrail.Fault, pageOf endpoint: some Endpoint, status: HTTPResponse.Status) {
        let why =
            switch fault {
            case .tooMany(let limit):
                "The limit is \(limit) pages, and there are more. Raise 'limit' if the list is that long."
            case .loop: "It was requested before, so the pages are a loop."
            case .invalidLink: "The 'Link' field does not lead to an 'http' or 'https' URL without user information."
            case .otherOrigin(let origin):
                "The 'Link' field leads to another origin, '\(origin)'. The request may contain credentials, so it "
                    + "is not sent there. Request that page with an endpoint of its own."
            }
        self.init(
            code: .paginationFailed,
            message: "The next page of '\(type(of: endpoint))' was not requested. \(why)",
            status: status,
            cause: fault
        )
    }

    /// Creates the error of an endpoint whose links cannot be followed.
    init(linkOf endpoint: some Endpoint) {
        self.init(
            code: .notRepeatable,
            message: "The endpoint '\(type(of: endpoint))' has the method '\(endpoint.method.rawValue)', but only GET "
                + "requests follow links to further pages. Use '.cursor' or '.number'."
        )
    }
}
