import HTTPCacheSemantics
import HTTPTypes

/// Decides whether a next page may be requested. A pure value.
struct PageTrail {
    /// Why a next page is not requested.
    enum Fault: Error, Hashable {
        /// There are more pages than the limit.
        case tooMany(limit: Int)
        /// The page was requested before.
        case loop
        /// The link is not a URL that can be requested.
        case invalidLink
        /// The link leads to this origin.
        case otherOrigin(String)
    }

    private let limit: Int
    private var seen: Set<AnyHashable> = []
    /// The number of pages that were requested.
    private(set) var count = 1

    /// - Parameters:
    ///   - limit: the maximum number of pages, at least 1.
    ///   - first: what identifies the first page, if that is known.
    init(limit: Int, first: AnyHashable?) {
        self.limit = max(1, limit)
        if let first { seen.insert(first) }
    }

    /// Notes that the page with this mark is requested next.
    mutating func advance(to mark: AnyHashable) throws(Fault) {
        guard seen.insert(mark).inserted else { throw .loop }
        guard count < limit else { throw .tooMany(limit: limit) }
        count += 1
    }

    /// Returns the target of a link.
    ///
    /// - Parameters:
    ///   - page: the target of the page with the link, after redirects. It is the link's base.
    ///   - first: the target of the first page's request. Its origin is the only one that gets its
    ///     credentials.
    static func target(of link: String, on page: TargetURI, from first: TargetURI) throws(Fault) -> TargetURI {
        guard let resolved = TargetURI(reference: link.utf8, relativeTo: page),
            let target = try? TargetURI(resolved.uri)
        else { throw .invalidLink }
        guard target.hasSameOrigin(as: first) else { throw .otherOrigin("\(target.scheme)://\(target.authority)") }
        return target
    }
}
