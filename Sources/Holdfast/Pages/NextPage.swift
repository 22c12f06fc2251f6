/// How the next page of a list is requested: by a link in the response, by a cursor in its value,
/// or by number. See ``CachingClient/pages(of:next:limit:_:)``.
public struct NextPage<E: Endpoint>: Sendable {
    /// Returns the next page's endpoint, and what must not occur twice; `nil` after the last page.
    ///
    /// - Parameters: the page's endpoint, its value, and how many pages came before it.
    typealias Step = @Sendable (E, E.Response, Int) -> (endpoint: E, mark: AnyHashable)?

    /// `nil` for links.
    let step: Step?

    /// Follows the response's `Link` field with `rel=next` (RFC 8288). The page without such a link
    /// is the last one.
    ///
    /// The linked pages have all settings of the first page's endpoint, except its URL, query and
    /// content. A relative link is resolved against the page's URL (RFC 3986 §5.2). A link to
    /// another scheme, host or port is refused, because the request may contain credentials. The
    /// endpoint's method must be GET.
    public static var link: NextPage { NextPage(step: nil) }

    /// Puts the cursor of one page into the endpoint of the next.
    ///
    /// ```swift
    /// client.pages(of: GetMoments(), next: .cursor(\.next) { $0.cursor = $1 })
    /// ```
    ///
    /// - Parameters:
    ///   - cursor: returns the cursor in a page; `nil` in the last page.
    ///   - set: puts the cursor into the endpoint.
    public static func cursor<Cursor: Hashable & Sendable>(
        _ cursor: @escaping @Sendable (E.Response) -> Cursor?,
        _ set: @escaping @Sendable (inout E, Cursor) -> Void
    ) -> NextPage {
        NextPage(step: { endpoint, value, _ in
            guard let found = cursor(value) else { return nil }
            var next = endpoint
            set(&next, found)
            return (next, AnyHashable(found))
        })
    }

    /// Counts the pages.
    ///
    /// ```swift
    /// client.pages(of: GetItems(page: 1), next: .number(while: { !$0.isEmpty }) { $0.page = $1 })
    /// ```
    ///
    /// - Parameters:
    ///   - first: the number of the first page.
    ///   - hasNext: returns whether another page follows the page with this value.
    ///   - set: puts the next page's number into the endpoint.
    public static func number(
        after first: Int = 1,
        while hasNext: @escaping @Sendable (E.Response) -> Bool,
        _ set: @escaping @Sendable (inout E, Int) -> Void
    ) -> NextPage {
        NextPage(step: { endpoint, value, earlier in
            guard hasNext(value) else { return nil }
            let number = first + earlier + 1
            var next = endpoint
            set(&next, number)
            return (next, AnyHashable(number))
        })
    }
}
