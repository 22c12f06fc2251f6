import HTTPCacheSemantics
import HTTPTypes

/// The key of a request, and the head that selects variants, before the scheme and listed values
/// are added to it.
///
/// Only this type decides which partition a request belongs to. An engine with a job uses the job's
/// partition alone, and no other engine does.
struct KeyChoice {
    /// `nil` if the request is not part of the engine's job.
    private(set) var key: StoreKey?
    /// The head in which credentials are replaced or removed; `nil` if there are none.
    private(set) var selecting: HTTPRequest?
    /// See ``PreparedRequest/hasIdentityInJob``.
    private(set) var hasIdentityInJob: Bool?
    /// See ``PreparedRequest/identityInJob``.
    private(set) var identityInJob: JobIdentities.Identity?
    /// See ``PreparedRequest/exclusion``.
    private(set) var exclusion: JobRun.Exclusion?

    /// The choice for a request that bypasses the store.
    init(hasIdentityInJob: Bool?) { self.hasIdentityInJob = hasIdentityInJob }

    /// - Parameters:
    ///   - request: the request for looking up.
    ///   - target: the target for the key.
    ///   - principal: the partition that a rule takes from a field or cookie.
    ///   - isAnonymous: whether nothing identifies the sender, as in most requests.
    init(
        _ request: CacheRequest,
        target: TargetURI,
        principal: StoreKey.Partition?,
        isAnonymous: Bool,
        _ settings: ExchangeSettings?,
        _ snapshot: PreparedRequest.Snapshot
    ) {
        let secrets = request.secrets
        var partition = StoreKey.Partition.common
        if !isAnonymous {
            let identity = { (request: CacheRequest) in
                snapshot.partitions.partition(of: request, ignoring: settings?.ignoredFields ?? [])
            }
            if let job = snapshot.job, principal == nil {
                identityInJob = job.identity(of: request, identity)
            }
            partition = principal ?? identityInJob?.partition ?? identity(request)
        }
        if let job = snapshot.job {
            hasIdentityInJob = partition != .common
            if identityInJob == nil { identityInJob = JobIdentities.Identity(partition: partition) }
            // A principal's field without a value is no credential, but selects no variant either.
            if !isAnonymous || settings?.principal != nil {
                selecting = CredentialPartition.withoutCredentials(
                    request.head,
                    principal: settings?.principal?.field,
                    secrets: secrets
                )
            }
            exclusion = job.exclusion(of: partition, target)
            if exclusion != nil { return }
            partition = .job(job.partition)
        } else if !isAnonymous {
            selecting = snapshot.partitions.selecting(
                request.head,
                principal: principal == nil ? nil : settings?.principal?.field,
                secrets: secrets
            )
        }
        key = StoreKey(
            partition: partition,
            method: request.head.method,
            target: target,
            content: request.keyContent(settings)
        )
    }
}
