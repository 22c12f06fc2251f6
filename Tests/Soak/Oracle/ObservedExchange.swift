/// One request, and the response as its client saw it.
struct ObservedExchange: Sendable {
    var request: ClientRequest
    /// When the first byte of the request was written, and when the end of the response was read.
    var sentAt: Moment
    var endedAt: Moment
    /// When its connection was made.
    var connectedAt: Moment
    var result: Result
    /// The number of responses before it on the same connection.
    var place: Int
    /// The number of requests that were sent behind this one and wait for their responses.
    var behind = 0

    enum Result: Sendable {
        case response(ReceivedResponse)
        /// The connection ended before the response did.
        case ended(String)
        /// Nothing arrived within the harness's timeout.
        case timedOut
        /// The received bytes are not HTTP.
        case malformed(String)
    }
}

/// A request as a client of the harness makes it.
struct ClientRequest: Sendable {
    var method = "GET"
    var resource: Resource
    var fields: [(name: String, value: String)] = []
    var content: [UInt8]?
    var isChunked = false
    var isHTTP10 = false
    var isHTTP2 = false
    /// Different for each request of a run.
    var number: String
    /// The principal or the language; see ``Representation/selector``.
    var selector = "-"
    /// The habit of the client, for the report.
    var habit: Part

    var closes: Bool { isHTTP10 || self["connection"] == "close" }

    var isUnsafe: Bool { method != "GET" && method != "HEAD" }

    subscript(name: String) -> String? { fields.last { $0.name.lowercased() == name }?.value }
}

/// A response as it was received.
struct ReceivedResponse: Sendable {
    var status: Int
    var fields: [(name: String, value: String)]
    var content: [UInt8] = []
    var interim: [Interim] = []

    struct Interim: Sendable {
        var status: Int
        var fields: [(name: String, value: String)]
    }

    /// - Parameter name: in lower case.
    subscript(name: String) -> String? { fields.last { $0.name == name }?.value }

    var version: Int? { self["x-soak-version"].flatMap { Int($0) } }
    /// Whether an origin of the harness made it, rather than the gateway.
    var isOfOrigin: Bool { self["x-soak-target"] != nil }
}
