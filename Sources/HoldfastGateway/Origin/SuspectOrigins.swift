import NIOCore

/// The origins that have sent bytes behind a response in the last five minutes. Pure.
///
/// Such bytes may be a whole response, and bytes that come once the next request is under way are
/// taken for its response. So a connection to such an origin takes one request: no client gets the
/// response to another client's request. RFC 9112 §9.2
struct SuspectOrigins: Sendable, Hashable {
    /// How long an origin is suspect after the last such bytes. 5 min
    static let time = TimeAmount.minutes(5)
    /// The most suspect origins. If there are more, the one whose time is over first is forgotten.
    static let limit = 1024

    /// When each of them is suspect no longer.
    private var ends: [OriginEndpoint: NIODeadline] = [:]

    /// Whether there may be any.
    var isEmpty: Bool { ends.isEmpty }

    /// Records bytes behind a response.
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
    /// The same with any files for TLS.
    var unrevised: OriginEndpoint {
        var endpoint = self
        endpoint.revision = 0
        return endpoint
    }
}
