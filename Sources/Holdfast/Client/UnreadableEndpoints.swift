import HTTPCache
import HTTPCacheSemantics
import Logging
import Synchronization

/// Logs, once for each endpoint type and reason, why its values cannot be read from the store and
/// how to fix this.
///
/// Without the log, a closure for stored values is never called, and the developer sees no reason.
final class UnreadableEndpoints: Sendable {
    /// Why a value cannot be read from the store.
    enum Reason: Hashable, Sendable {
        /// The network's response was not stored.
        case notStored(StorageRefusal)
        /// The response is stored, but this directive forbids its use unless the origin confirms
        /// the response.
        case forbidden(by: String)
    }

    private struct Key: Hashable {
        var endpoint: ObjectIdentifier
        var reason: Reason
    }

    /// The maximum number of endpoint types and reasons to remember. Additional ones are not
    /// logged.
    static let limit = 512

    private let logged = Mutex<Set<Key>>([])

    /// Returns whether this reason is reported for the first time.
    func isFirst(_ reason: Reason, of endpoint: any Endpoint) -> Bool {
        let key = Key(endpoint: ObjectIdentifier(Self.type(of: endpoint)), reason: reason)
        return logged.withLock { logged in
            guard logged.count < Self.limit else { return false }
            return logged.insert(key).inserted
        }
    }

    /// Returns the endpoint type that the developer wrote.
    static func type(of endpoint: any Endpoint) -> any Endpoint.Type {
        Swift.type(of: (endpoint as? AnyEndpoint)?.base ?? endpoint)
    }
}

extension CachingClient {
    /// Logs, the first time, that a success, or a redirect that leads to one, could not be stored.
    /// Logs nothing if the caller or a rule asked not to store it.
    func noteUnstored(_ response: CacheResponse, _ endpoint: any Endpoint, isFollowed: Bool = false) {
        guard let refusal = response.outcome.notStored, refusal != .bypass, !endpoint.isMutation,
            response.head.status.kind == .successful || isFollowed
        else { return }
        note(.notStored(refusal), endpoint, "Response was not stored", refusal.rawValue, refusal.advice)
    }

    /// Logs, the first time, that a directive prevented the use of a stored response.
    func noteForbidden(_ error: ExchangeError, _ endpoint: any Endpoint) {
        guard let directive = error.forbiddenBy, let lifting = StaleProhibition(rawValue: directive)?.liftedBy,
            OfflineReads.despiteDirectives.liftedDirectives.contains(lifting)
        else { return }
        note(
            .forbidden(by: directive),
            endpoint,
            "Stored response was not used",
            directive,
            "To use it without contacting the origin, set 'offlineReads' in the client's configuration or in the "
                + "endpoint to '.despiteDirectives'."
        )
    }

    private func note(
        _ reason: UnreadableEndpoints.Reason,
        _ endpoint: any Endpoint,
        _ message: Logger.Message,
        _ name: String,
        _ advice: String
    ) {
        guard logger.logLevel <= .info, unreadable.isFirst(reason, of: endpoint) else { return }
        logger.info(
            message,
            metadata: [
                "endpoint": "\(UnreadableEndpoints.type(of: endpoint))", "cache.reason": "\(name)",
                "advice": "\(advice)",
            ]
        )
    }
}

extension StorageRefusal {
    /// The advice for the endpoint's developer.
    var advice: String {
        switch self {
        case .responseNoStore:
            "To keep the response for offline reads and first emissions, set 'offlineReads' in the client's configuration or "
                + "in the endpoint to '.despiteDirectives'."
        case .requestNoStore: "Remove 'Cache-Control: no-store' from the request."
        case .setCookie: "The response sets a cookie. Name the 'principal' to which the response belongs."
        case .method, .notExplicit:
            "Set the response's lifetime with the endpoint's 'storage': '.expiring(.after(…))'."
        case .varyAny: "The origin sends 'Vary: *' or a malformed 'Vary'. Only the origin can change that."
        case .authorization, .privateResponse:
            "A field of the response repeats a secret from the request."
        case .rule, .guarded, .bodyLength, .bypass:
            "A rule, a guard or a limit on the body's length excludes the response."
        case .store:
            "The store is read-only, full, busy, closed or failing, or the body is too large: see earlier log messages."
        case .fewUses: "A rule stores the response only after more requests for it."
        case .tags: "The response has more than 64 tags, or a tag of more than 1,024 bytes. Use fewer or shorter tags."
        case .endless: "An event stream has no end, so it is not stored."
        case .cutShort: "The response was cut short. See the origin's log."
        case .lastEvent: "The event stream did not end as a rule requires."
        case .unclearEnd: "Bytes followed the end of the response: the origin or a proxy frames it incorrectly."
        case .partialContent: "The response is partial content. Request the whole resource, without 'Range'."
        case .statusNotFinal, .statusNotUnderstood, .statusAboutRequest, .statusProvoked, .storedSuccess:
            "Responses with this status are not stored."
        }
    }
}
