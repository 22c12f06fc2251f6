import HTTPCache
import HTTPCacheSemantics
import Logging
import Synchronization

/// Tells once for each type of endpoint why its values cannot be read from the store, and what to
/// do about it.
///
/// Without that, a closure for stored values is never called, and nothing says why.
final class UnreadableEndpoints: Sendable {
    /// Why a value is not there to be read.
    enum Reason: Hashable, Sendable {
        /// The network's response was not stored.
        case notStored(StorageRefusal)
        /// It is stored, and this directive forbids its use unless the origin confirms it.
        case forbidden(by: String)
    }

    private struct Key: Hashable {
        var endpoint: ObjectIdentifier
        var reason: Reason
    }

    /// Types and reasons that are remembered; nothing is told of further ones.
    static let limit = 512

    private let told = Mutex<Set<Key>>([])

    /// Whether this is the first time.
    func isNews(_ reason: Reason, of endpoint: any Endpoint) -> Bool {
        let key = Key(endpoint: ObjectIdentifier(Self.type(of: endpoint)), reason: reason)
        return told.withLock { told in
            guard told.count < Self.limit else { return false }
            return told.insert(key).inserted
        }
    }

    /// The type that a developer wrote.
    static func type(of endpoint: any Endpoint) -> any Endpoint.Type {
        Swift.type(of: (endpoint as? AnyEndpoint)?.base ?? endpoint)
    }
}

extension CachingClient {
    /// Logs, the first time, that a success could not be stored. Where its caller or a rule wants
    /// that, it is no news.
    func noteUnstored(_ response: CacheResponse, _ endpoint: any Endpoint) {
        guard let refusal = response.outcome.notStored, refusal != .bypass, !endpoint.isMutation,
            response.head.status.kind == .successful
        else { return }
        note(.notStored(refusal), endpoint, "Response was not stored", refusal.rawValue, refusal.advice)
    }

    /// Logs, the first time, that a directive keeps a stored response from its caller.
    func noteForbidden(_ error: ExchangeError, _ endpoint: any Endpoint) {
        guard let directive = error.forbiddenBy, Self.liftable.contains(directive) else { return }
        note(
            .forbidden(by: directive),
            endpoint,
            "Stored response was not used",
            directive,
            "To read it without asking the origin, set 'offlineReads' of the client's configuration or of the "
                + "endpoint to '.despiteDirectives'."
        )
    }

    /// What ``OfflineReads/despiteDirectives`` lifts of what is stored.
    private static let liftable: Set<String> = [
        "must-revalidate", "proxy-revalidate", "no-cache", "s-maxage", "no-store",
    ]

    private func note(
        _ reason: UnreadableEndpoints.Reason,
        _ endpoint: any Endpoint,
        _ message: Logger.Message,
        _ name: String,
        _ advice: String
    ) {
        guard logger.logLevel <= .info, unreadable.isNews(reason, of: endpoint) else { return }
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
    /// What the developer of an endpoint can do about it.
    var advice: String {
        switch self {
        case .responseNoStore:
            "To keep it for offline reads and first emissions, set 'offlineReads' of the client's configuration or "
                + "of the endpoint to '.despiteDirectives'."
        case .requestNoStore: "Send no 'Cache-Control: no-store' with the request."
        case .setCookie: "It sets a cookie, so name the 'principal' whose response it is."
        case .method, .notExplicit:
            "Say how long it is good for with 'storage' of the endpoint: '.expiring(.after(…))'."
        case .varyAny: "The origin says 'Vary: *', or a 'Vary' that cannot be read; only the origin can change that."
        case .authorization, .privateResponse:
            "It repeats a secret of the request, or a rule makes the store a shared one for it."
        case .rule, .guarded, .bodyLength, .bypass: "A rule, a guard or a limit of the body's length keeps it out."
        case .store: "The store is full, closed or failing, or the body is too large for it: see the log above."
        case .endless: "An event stream has no end, so there is nothing to store."
        case .unclearEnd: "Bytes came behind the response's end; its origin or a proxy frames it wrongly."
        case .partialContent: "It is a part; ask for the whole, without 'Range'."
        case .statusNotFinal, .statusNotUnderstood, .statusAboutRequest, .statusProvoked, .storedSuccess:
            "Its status is not stored."
        }
    }
}
