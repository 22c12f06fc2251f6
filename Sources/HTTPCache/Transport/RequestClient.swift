import HTTPTypes

/// The client of a request, for sharing an origin's permits.
package struct RequestClient: Sendable, Hashable {
    private let number: Int

    /// No particular client: a program's own requests, to which the shares do not apply.
    package static let none = RequestClient(number: 0)

    /// All refreshes of purged responses together. They count as one client, so that an origin has
    /// permits for other clients however many refreshes are running.
    package static let refreshes = RequestClient(number: 2)

    // A named client's number is odd.
    private init(number: Int) { self.number = number }

    /// - Parameter name: identifies the client, for example an address.
    package init(_ name: String) {
        var hasher = Hasher()
        hasher.combine(name)
        number = hasher.finalize() | 1
    }
}

extension RequestClient {
    /// Returns whether a response redirects a refresh, in which case it does not replace a stored
    /// 2xx response.
    ///
    /// A refresh sends only the selecting fields. An origin may redirect it although it sends a 2xx
    /// to clients, for example because the refresh does not state the clients' scheme. If the
    /// redirect were stored, all clients would get it.
    func isRefreshRedirected(by status: HTTPResponse.Status) -> Bool {
        self == .refreshes && status.kind == .redirection
    }
}
