import HTTPCacheSemantics
import HTTPTypes

/// The identities of a recording: the first one at each origin, and the cookies that belong to it.
///
/// A client that keeps cookies sends an origin's cookie with its next request. That cookie does not
/// make it another client: it belongs to the identity of the request whose response set it.
struct JobIdentities {
    /// A request's credentials, as a recording compares them.
    struct Identity: Hashable {
        /// `common` if the request has no credentials.
        var partition: StoreKey.Partition
        /// Whether only cookies identify the sender.
        var isByCookies = false
    }

    private var first: [String: StoreKey.Partition] = [:]
    /// The owners of cookies, by a hash of name and value.
    private var owners: [Int: StoreKey.Partition] = [:]
    /// The hashes in ``owners``, and where the next one is written.
    private var order: [Int] = []
    private var next = 0

    // MARK: Identities

    /// Returns the identity of a request.
    ///
    /// - Parameter partition: returns the partition that a request would have without a job.
    func identity(of request: CacheRequest, _ partition: (CacheRequest) -> StoreKey.Partition) -> Identity {
        guard let cookies = RequestCookies(request.head.headerFields), !cookies.isEmpty else {
            return Identity(partition: partition(request))
        }
        let counted = cookies.filter { !Self.isOfNetwork($0.name) }
        let others = counted.filter { owners[$0.hashValue] == nil }
        // The other credentials decide, if there are any.
        guard partition(request.withCookies(nil)) == .common else {
            return Identity(partition: partition(request.withCookies(others)))
        }
        guard others.isEmpty else {
            return Identity(partition: partition(request.withCookies(others)), isByCookies: true)
        }
        let known = Set(counted.cookies.compactMap { owners[$0.hashValue] })
        if let owner = known.first, known.count == 1 { return Identity(partition: owner, isByCookies: true) }
        return Identity(partition: partition(request.withCookies(counted)), isByCookies: !counted.isEmpty)
    }

    /// Returns whether an identity is the first one at an origin, and takes it if there is none.
    mutating func isFirst(_ partition: StoreKey.Partition, at origin: String) -> Bool {
        if let known = first[origin] { return known == partition }
        guard first.count < JobRun.originLimit else { return false }
        first[origin] = partition
        return true
    }

    // MARK: Cookies

    /// Remembers that cookies belong to an identity of the job.
    mutating func give(_ cookies: [RequestCookies.Cookie], to owner: StoreKey.Partition) {
        for cookie in cookies where !Self.isOfNetwork(cookie.name) {
            let hash = cookie.hashValue
            guard owners.updateValue(owner, forKey: hash) == nil else { continue }
            if order.count < JobRun.cookieLimit {
                order.append(hash)
            } else {
                owners[order[next]] = nil
                order[next] = hash
                next = (next + 1) % JobRun.cookieLimit
            }
        }
    }

    /// Returns whether a cookie is set by a CDN or a load balancer that does not know its users. It
    /// distinguishes clients and not users, and each new client gets another one.
    static func isOfNetwork(_ name: String) -> Bool {
        networkCookies.contains(name) || networkPrefixes.contains { name.hasPrefix($0) }
    }

    private static let networkCookies: Set<String> = [
        // Cloudflare
        "__cf_bm", "__cflb", "__cfruid", "_cfuvid", "cf_clearance",
        // AWS
        "AWSALB", "AWSALBCORS", "AWSALBTG", "AWSALBTGCORS", "AWSELB", "AWSELBCORS",
        // Azure, Google
        "ARRAffinity", "ARRAffinitySameSite", "GCLB",
        // Akamai
        "_abck", "ak_bmsc", "bm_mi", "bm_sv", "bm_sz",
    ]
    /// Imperva's cookies end with the number of the site.
    private static let networkPrefixes = ["incap_ses_", "nlbi_", "visid_incap_"]
}

extension CacheRequest {
    /// Returns the request with other cookies, to compare its credentials.
    fileprivate func withCookies(_ cookies: RequestCookies?) -> CacheRequest {
        var request = self
        request.head.headerFields.setCookie(cookies.flatMap { $0.isEmpty ? nil : $0.written })
        // A proof accompanies a credential, and is not compared.
        request.head.headerFields.removeAll(where: CredentialPartition.isProof)
        return request
    }
}
