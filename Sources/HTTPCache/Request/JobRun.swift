import HTTPCacheSemantics
import HTTPTypes
import Synchronization

/// The job that an engine records or replays. All of the engine's keys are in the job's partition,
/// which no other engine reads.
///
/// A job has one identity at each origin: the partition that its requests would have without the
/// job, and without the cookies that belong to the identity. It is an HMAC under the engine's
/// secret, so a recording uses a secret of its own that is written nowhere.
package final class JobRun: Sendable {
    /// The use that the engine makes of the job.
    package struct Use: Sendable, Hashable {
        /// Whether requests with another identity than the first one are excluded. A recording
        /// compares identities. A replay does not, so that it needs no credentials.
        package var comparesIdentities = false
        /// Whether the content of each POST is in its key, so that its response is recorded.
        package var keysPosts = false
        /// Whether requests state https to origins although the job's listener has no TLS. They do
        /// if all clients of the gateway used TLS when the job was recorded.
        package var statesHTTPS = false
        /// Whether every recorded response is served, whatever its age and its directives.
        package var isAsRecorded = false
        /// The names of parameters that are credentials, in addition to ``JobRun/credentials``.
        package var secretParameters: Set<String> = []
        /// The names of parameters that are no secrets, although they look like some.
        package var publicParameters: Set<String> = []

        package init() {}
    }

    /// The reason that a request is not part of the job, although its response could be stored.
    package enum Exclusion: String, Sendable, Hashable, CaseIterable {
        /// It has other credentials than the job's first request with credentials to the origin.
        case credentials
        /// Its URL contains a parameter that may be a secret, or may select the response.
        case parameters
    }

    /// The maximum number of origins whose identities are remembered. Requests with credentials to
    /// further origins are excluded.
    package static let originLimit = 4096
    /// The maximum number of cookies whose identities are remembered. Clients send the newest.
    package static let cookieLimit = 4096

    /// The name of the job's partition.
    package let partition: String
    package let use: Use
    private let identities = Mutex(JobIdentities())
    private let requests = Atomic<UInt64>(0)
    private let posts: JobSettings
    private let others: JobSettings
    /// The parameters that are credentials, made once for all requests; `nil` for none.
    let secrets: RequestSecrets?

    /// - Parameter partition: a random name, made for each recording.
    package init(partition: String, _ use: Use = Use()) {
        self.partition = partition
        self.use = use
        let names = Self.credentials.union(use.secretParameters).subtracting(use.publicParameters)
        secrets = RequestSecrets(parameters: names, fields: [])
        posts = JobSettings(keysContent: use.keysPosts, isAsRecorded: use.isAsRecorded)
        others = JobSettings(keysContent: false, isAsRecorded: use.isAsRecorded)
    }

    /// Changes a request before the rules see it: its secret parameters stay out of the key.
    ///
    /// A request without such parameters gets no secrets, because every step of an exchange looks
    /// for the secrets of a request that has some.
    func adapt(_ request: inout CacheRequest) {
        if request.target == nil { request.target = TargetURI(request: request.head) }
        if request.secrets != nil {
            request.secretParameters.formUnion(secrets?.parameters ?? [])
        } else if let secrets, let target = request.target, !secrets.withheld(from: target).pieces.isEmpty {
            request.secrets = secrets
        }
    }

    /// Returns the settings of a request, which override its rules; `nil` if they change nothing.
    func settings(for method: HTTPRequest.Method, hasRules: Bool) -> JobSettings? {
        let settings = method == .post ? posts : others
        return hasRules || settings.changesDefaults ? settings : nil
    }

    /// The names of parameters that are certainly credentials. They are not in the key, so a replay
    /// answers requests that differ only in them alike. A name that APIs also use for other things,
    /// such as `state`, must not be here.
    package static let credentials: Set<String> = [
        "access_key", "access_token", "accesskey", "accesstoken", "api-key", "api_key", "apikey", "authorization",
        "bearer", "client_assertion", "client_secret", "clientsecret", "id_token", "idtoken", "jwt", "passphrase",
        "passwd", "password", "private_key", "private_token", "pwd", "refresh_token", "refreshtoken",
    ]

    /// Returns the names of parameters in a query that may be secrets and are not named as public.
    package static func doubtful(in query: String?, except names: Set<String>) -> [String] {
        guard let query else { return [] }
        return Redaction.secretNames(in: query).filter { name in !names.contains { $0.lowercased() == name } }
    }

    /// The number of the next request.
    func nextOrdinal() -> UInt64 { requests.add(1, ordering: .relaxed).newValue }

    /// Returns the identity of a request.
    ///
    /// - Parameter partition: returns the partition that a request would have without the job.
    func identity(
        of request: CacheRequest,
        _ partition: (CacheRequest) -> StoreKey.Partition
    ) -> JobIdentities.Identity {
        guard use.comparesIdentities, request.head.headerFields.contains(.cookie) else {
            return JobIdentities.Identity(partition: partition(request))
        }
        return identities.withLock { $0.identity(of: request, partition) }
    }

    /// Takes note of the cookies that belong to the identity of a request of the job.
    ///
    /// - Parameters:
    ///   - head: the request, as its identity was determined.
    ///   - response: the fields of its response.
    func noteCookies(
        of identity: JobIdentities.Identity,
        _ head: HTTPRequest,
        _ response: HTTPFields
    ) {
        guard use.comparesIdentities, identity.partition != .common else { return }
        var cookies = response[fields: .setCookie].compactMap(\.settingCookie)
        if identity.isByCookies {
            // It may be a login as another user.
            if !head.method.isSafe { cookies = [] }
            // An origin may replace one of several cookies.
            cookies += RequestCookies(head.headerFields)?.cookies ?? []
        }
        guard !cookies.isEmpty else { return }
        identities.withLock { $0.give(cookies, to: identity.partition) }
    }

    /// Decides whether a request is part of the job.
    ///
    /// - Parameters:
    ///   - identity: see ``identity(of:_:)``.
    ///   - target: the target in the key.
    /// - Returns: the reason that it is not part of the job.
    func exclusion(of identity: StoreKey.Partition, _ target: TargetURI) -> Exclusion? {
        guard Self.doubtful(in: target.query, except: use.publicParameters).isEmpty else { return .parameters }
        guard use.comparesIdentities, identity != .common else { return nil }
        let origin = "\(target.scheme)://\(target.authority)"
        return identities.withLock { $0.isFirst(identity, at: origin) } ? nil : .credentials
    }
}
