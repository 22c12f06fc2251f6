package import HTTPCacheSemantics
import HTTPTypes

extension RuledResponse {
    /// The reason that requests in the mode `offline` do not get a stored response, if no directive
    /// and no limit forbids its use.
    package enum OfflineLoss: String, Sendable {
        /// Rules exclude the request or the response from the store: see
        /// ``RuledResponse/isPassedBy``.
        case bypass
        /// The request is looked up under another key, or selects another variant.
        case key
        /// Only a part is stored, which a request without `Range` does not get.
        case partial
        /// The response is an error, such as 404, which is served only while it is fresh.
        case staleError = "stale-error"
    }

    /// Returns the reason that the request for the response gets 504 in the mode `offline` now, or
    /// as soon as the response is stale; `nil` if it gets the response.
    ///
    /// ``ReuseMachine`` decides. The request is rebuilt from the key and the selecting fields, so
    /// it has no credentials, and usually no `Range`. The client's scheme does not matter here: see
    /// ``isFound(byClientsUsing:)``.
    ///
    /// - Returns: a directive, a limit such as `stale.offline`, or an ``OfflineLoss``.
    package func offlineRefusal(at now: Timestamp) -> String? {
        if isPassedBy { return OfflineLoss.bypass.rawValue }
        guard key == stored.key, let subject = offlineSubject else { return OfflineLoss.key.rawValue }
        let stale = freshUntil < .distantFuture ? freshUntil.adding(milliseconds: 1) : now
        guard let refusal = subject.offlineRefusal(at: max(now, stale)) else { return nil }
        if let directive = refusal.forbiddenBy { return directive }
        let loss: OfflineLoss =
            switch refusal.outcome.forward {
            case .bypass, .method: .bypass
            case .partial: .partial
            case .stale: .staleError
            case .uriMiss, .varyMiss, .miss, .request, nil: .key
            }
        return loss.rawValue
    }

    /// The request for the response, and the response as the only one that is stored for it.
    private var offlineSubject: OfflineForecast.Subject? {
        var candidate = stored
        candidate.head.selectingFields = HTTPFields(
            stored.head.selectingFields.filter { !$0.isWithheld && $0.name != .clientScheme }
        )
        var head = request
        head.headerFields = candidate.head.selectingFields
        head.headerFields.restoreListedValues()
        var asked = CacheRequest(head: head)
        // As a gateway's requests do.
        asked.decodesGzip = true
        if let content = stored.key.components.content {
            asked.keysContent = true
            asked.contentDigest = content.sha256
        }
        let snapshot = PreparedRequest.Snapshot(
            policy: policy,
            // The request has no credentials.
            partitions: CredentialPartition(secret: []),
            modes: EngineModes(mode: .offline),
            staleness: .none,
            settingsVersion: 0
        )
        return PreparedRequest(asked, rules: rules.restricted(for: head), snapshot)
            .map { OfflineForecast.Subject($0, [candidate]) }
    }
}
