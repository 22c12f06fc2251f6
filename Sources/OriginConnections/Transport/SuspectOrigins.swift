import GatewayRouting
import NIOCore

/// The origins that have sent bytes after a response in the last five minutes. A pure value.
///
/// Such bytes may be a complete response. If they arrived after the next request was sent, they
/// would be mistaken for its response. So each connection to such an origin takes only one request,
/// and no client gets the response to another client's request. RFC 9112 §9.2
struct SuspectOrigins: Sendable, Hashable {
    /// The time that an origin stays suspect after the last such bytes: 5 minutes
    static let time = TimeAmount.minutes(5)
    /// The maximum number of suspect origins. If there are more, the origin that expires first is
    /// dropped.
    static let limit = 1024

    /// The time at which each origin stops being suspect.
    private var ends: [OriginEndpoint: NIODeadline] = [:]

    /// Whether no origin is recorded. Recorded origins may have expired.
    var isEmpty: Bool { ends.isEmpty }

    /// Records bytes after a response.
    ///
    /// - Returns: whether the origin was not suspect before.
    mutating func note(_ endpoint: OriginEndpoint, at now: NIODeadline) -> Bool {
        ends = ends.filter { $0.value > now }
        let isNew = ends.updateValue(now + Self.time, forKey: endpoint.unrevised) == nil
        if ends.count > Self.limit, let first = ends.min(by: { $0.value < $1.value }) { ends[first.key] = nil }
        return isNew
    }

    func contains(_ endpoint: OriginEndpoint, at now: NIODeadline) -> Bool {
        guard !ends.isEmpty, let end = ends[endpoint.unrevised] else { return false }
        return now < end
    }
}

extension OriginEndpoint {
    /// The endpoint regardless of its TLS files.
    var unrevised: OriginEndpoint {
        var endpoint = self
        endpoint.revision = 0
        return endpoint
    }
}
