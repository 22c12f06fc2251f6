import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

/// Why a response is not kept in the hot table for identical requests. The first reason that
/// applies, in the order of the cases, counts. docs/architecture.md lists them.
enum HotBypass: String, CaseIterable {
    /// The request did not look for a response, or its own was not available immediately.
    case notAsked = "not-asked"
    /// The response depends on more than the request's bytes and the time.
    case notLasting = "not-lasting"
    /// The response contains this request's ID, or URLs that were rewritten for its client.
    case isForOneClient = "one-client"
    /// Only some clients see the details in `Cache-Status`.
    case hidesDetails = "hidden-details"
    /// The response varies by the client's address or protocol.
    case variesByClient = "varies-by-client"
    /// The table has not seen the request before.
    case firstTime = "first-time"
}

extension HotBypass {
    /// Names the reason why a response is not kept.
    ///
    /// - Parameters:
    ///   - key: `nil` if the request did not look for a response.
    ///   - hidesDetails: whether only trusted clients see details.
    ///   - table: remembers the request if no other reason applies.
    /// - Returns: `nil` if the response may be kept.
    static func reason(
        _ key: HotKey?,
        _ hit: ImmediateHit,
        _ head: GatewayResponseHead,
        hidesDetails: @autoclosure () -> Bool,
        in table: HotTable
    ) -> HotBypass? {
        guard let key else { return .notAsked }
        // If the settings changed in the meantime, the client may have had other traits.
        guard hit.conditions?.settings == key.settings else { return .notLasting }
        if head.isForOneClient { return .isForOneClient }
        if hidesDetails() { return .hidesDetails }
        if variesByClient(hit) { return .variesByClient }
        return table.markSeen(hash: key.hash) ? nil : .firstTime
    }

    private static func variesByClient(_ hit: ImmediateHit) -> Bool {
        guard let fields = hit.response.stored?.head.fields, fields.contains(.vary) else { return false }
        return fields[values: .vary].contains { $0.lowercased().contains("forwarded") }
    }
}
