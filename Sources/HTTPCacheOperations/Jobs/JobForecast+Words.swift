import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension JobForecast.Refused {
    /// The reason for a list of requests: a clause, or the name of a directive or a code.
    package var words: String { knownReason ?? "'\(reason)'" }

    /// The reason as a clause.
    var clause: String { knownReason ?? "the reason is '\(reason)'" }

    private var knownReason: String? {
        switch reason {
        case JobForecast.Loss.removed.rawValue: "its complete response is not in the store"
        case JobForecast.Loss.staleError.rawValue:
            "its \(status.map { "\($0)" } ?? "error") is no longer fresh; '--as-recorded' serves it"
        case JobForecast.Loss.contentRules.rawValue:
            "the rules for its content have changed since the recording, so its response may not be found"
        case ExchangeError.Code.offlineMiss.description: "nothing is stored for it"
        case ExchangeError.Code.originUnreachable.description: "its origin was unreachable"
        case ExchangeError.Code.transportFailed.description: "its origin sent no valid response"
        case JobRun.Exclusion.credentials.rawValue: "it had other credentials than the first request to its origin"
        case StorageRefusal.method.rawValue where request.method == .head:
            "a HEAD request is answered only if a GET request for its URL is recorded"
        case StorageRefusal.method.rawValue: "responses to \(request.method) are not stored"
        case StorageRefusal.bypass.rawValue:
            "it requests another protocol, such as WebSocket, or a rule excludes it from the store"
        case StorageRefusal.responseNoStore.rawValue:
            "its response has 'no-store'; a rule with 'stale: {ignore: [no-store]}' stores it"
        case StorageRefusal.requestNoStore.rawValue: "the request has 'no-store'"
        case StorageRefusal.endless.rawValue: "its response is an event stream"
        case StorageRefusal.notExplicit.rawValue: "its response does not state that it may be stored"
        case "invalidated": "a later request with an unsafe method invalidated it"
        case StorageRefusal.varyAny.rawValue: "its response varies by everything ('Vary: *')"
        default: nil
        }
    }
}
