import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import NIOCore

/// One caller's request, and all that it got.
final class Call: @unchecked Sendable {
    // Unchecked: see ``World``.

    let number: Int
    let step: Int
    let request: CacheRequest
    let resource: Int
    let isReadingWhole: Bool
    /// That it began in.
    var mode: OfflineMode
    /// The operator's extension of staleness that it began with, in milliseconds.
    var extendedStaleness: Int64 = 0
    let quiescentTick: Int
    var begunTick = 0
    var begunAt: Int64 = 0
    var isCancelled = false
    var isEnded = false
    var response: CacheResponse?
    var respondedTick = 0
    var body = ByteBuffer()
    var bodyError: (any Error)?
    var hasWholeBody = false
    var error: (any Error)?
    /// The responses under the request's keys when it began.
    var storedAtBeginning: [StoredResponse] = []
    /// Its log entries, the origin's numbers.
    var entries: [Int] = []
    var arrivals = 0
    var summary = ""
    var task: Task<Void, Never>?

    init(
        number: Int,
        step: Int,
        request: CacheRequest,
        resource: Int,
        isReadingWhole: Bool,
        mode: OfflineMode,
        quiescentTick: Int
    ) {
        self.number = number
        self.step = step
        self.request = request
        self.resource = resource
        self.isReadingWhole = isReadingWhole
        self.mode = mode
        self.quiescentTick = quiescentTick
    }

    var fields: HTTPFields { request.head.headerFields }
    var method: HTTPRequest.Method { request.head.method }

    /// The caller, with credentials.
    var asker: Asker { Asker(principal: request.principal, fields) }
}

/// Whose request it is.
struct Asker: Hashable {
    var principal: String?
    var authorization: String?
    var cookie: String?

    init(principal: String?, _ fields: HTTPFields) {
        self.principal = principal
        authorization = fields[.authorization]
        cookie = fields[.cookie]
    }

    var isAnybody: Bool { principal == nil && authorization == nil && cookie == nil }
}

extension World {
    /// Checks, when a request reaches an origin, that no call that forbids the network caused it.
    func arrived(_ entry: OriginEntry) {
        guard calls.indices.contains(entry.call) else { return }
        let call = calls[entry.call]
        call.entries.append(entry.number)
        if call.mode == .offline { report(call, "opened a socket in mode offline (entry \(entry.number))") }
        if call.request.preference == .storedOnly { report(call, "storedOnly opened a socket (entry \(entry.number))") }
        if call.fields[.cacheControl]?.contains("only-if-cached") == true {
            report(call, "only-if-cached opened a socket (entry \(entry.number))")
        }
    }

    func report(_ call: Call, _ what: String) {
        violations.append("\(describe(call)): \(what)")
    }

    func describe(_ call: Call) -> String {
        var text = "step \(call.step) call \(call.number): \(call.method) \(call.request.head.path ?? "")"
        text +=
            " [\(call.fields.filter { $0.name != .call }.map { "\($0.name): \($0.value)" }.joined(separator: "; "))]"
        text +=
            " principal=\(call.request.principal ?? "-") preference=\(call.request.preference) storage=\(call.request.storage)"
        text += " mode=\(call.mode) kind=\(configuration.kind)"
        if let response = call.response {
            text += " → \(response.head.status.code) \(response.source) age=\(response.ageMilliseconds)"
            text += " stale=\(response.isStale) validated=\(response.isValidated) \(response.outcome.cacheStatus())"
            text +=
                " sent=\(response.head.headerFields[.sent] ?? "?") body=\(response.head.headerFields[.brought] ?? "?")"
        } else if let error = call.error {
            text += " → \(error) \((error as? ExchangeError)?.cause.map { String(reflecting: $0) } ?? "")"
        }
        return text
    }
}
