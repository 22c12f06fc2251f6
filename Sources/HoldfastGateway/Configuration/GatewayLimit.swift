/// One limit of a gateway: what it bounds, its default, and the response to a client that exceeds
/// it. docs/limits.md is generated from these.
package struct GatewayLimit: Sendable {
    /// The quantity that is limited.
    package let name: String
    /// The default as a file would hold it.
    package let standard: String
    /// The default as a number; `nil` if there is none, or if it is derived.
    package let value: Int?
    /// The key in a configuration file; `nil` if only a program can set it.
    package let setting: String?
    /// The effect of exceeding it.
    package let outcome: String
    /// The status of the response; `nil` if no request is rejected.
    package let status: Int?
    /// The end of the problem's `type`. RFC 9457
    package let code: String?
    /// `detail` in `Cache-Status`. RFC 9211 §2.8
    package let detail: String?

    private init(
        _ name: String,
        _ standard: String,
        _ value: Int?,
        setting: String? = nil,
        _ outcome: String,
        status: Int? = nil,
        code: String? = nil,
        detail: String? = nil
    ) {
        self.name = name
        self.standard = standard
        self.value = value
        self.setting = setting
        self.outcome = outcome
        self.status = status
        self.code = code
        self.detail = detail
    }

    private static func rejected(
        _ name: String,
        _ standard: String,
        _ value: Int?,
        setting: String? = nil,
        _ status: Int,
        _ code: String,
        detail: String = "refused"
    ) -> GatewayLimit {
        GatewayLimit(name, standard, value, setting: setting, "rejected", status: status, code: code, detail: detail)
    }

    /// All limits: of clients, requests, origins and the store.
    package static let all: [GatewayLimit] = [
        rejected("connections", "10000", 10_000, setting: "limits.connections", 503, "too-many-connections"),
        rejected(
            "connections of one client",
            "off",
            nil,
            setting: "limits.connections-per-client",
            503,
            "too-many-connections-of-client"
        ),
        rejected("request line", "8 KiB", 8 << 10, 414, "start-line-too-long"),
        rejected("field lines", "64 KiB", 64 << 10, setting: "limits.request-head", 431, "fields-too-large"),
        rejected("number of field lines", "128", 128, 431, "fields-too-large"),
        GatewayLimit("members of a range", "16", 16, "the request is forwarded without it; stored parts are coalesced"),
        GatewayLimit("length of a range", "1 KiB", 1 << 10, "the request is forwarded without it"),
        rejected("request content", "1 GiB", 1 << 30, setting: "limits.request-body", 413, "content-too-large"),
        rejected("rate of content", "1 KiB a second", 1 << 10, setting: "limits.upload-rate", 408, "timed-out"),
        rejected("chunk line", "1 KiB", 1 << 10, 400, "chunk-extensions-too-large"),
        rejected("chunk extensions", "16 KiB", 16 << 10, 400, "chunk-extensions-too-large"),
        rejected("trailers", "8 KiB", 8 << 10, 431, "trailers-too-large"),
        GatewayLimit(
            "keyed content",
            "1 MiB",
            1 << 20,
            setting: "limits.keyed-content",
            "it passes, is not served from the store and is not stored"
        ),
        GatewayLimit("unwanted content", "1 MiB", 1 << 20, "the connection is closed after the response"),
        rejected("time for a head", "30 s", nil, 408, "timed-out"),
        rejected("time for a client to send more content", "60 s", nil, setting: "timeouts.client", 408, "timed-out"),
        GatewayLimit("time between requests", "60 s", nil, "the connection is closed"),
        GatewayLimit(
            "time for a client to read more",
            "60 s",
            nil,
            "the connection is closed; no other client waits for it"
        ),
        GatewayLimit(
            "requests at an origin",
            "256",
            256,
            setting: "limits.in-flight-per-origin",
            "further ones wait, no longer than `timeouts.hard`; the last quarter is for clients that have less than a quarter",
            status: 503,
            code: "overloaded",
            detail: "overloaded"
        ),
        rejected(
            "requests waiting for an origin",
            "4096",
            4096,
            setting: "limits.waiting-per-origin",
            503,
            "overloaded",
            detail: "overloaded"
        ),
        GatewayLimit(
            "requests waiting for one fetch",
            "`limits.connections`",
            nil,
            "each connection has one request at a time"
        ),
        rejected(
            "time for an origin's head",
            "60 s",
            nil,
            setting: "timeouts.hard",
            504,
            "origin-unreachable",
            detail: "offline"
        ),
        rejected(
            "time for an origin to read more content",
            "60 s",
            nil,
            setting: "timeouts.send",
            504,
            "origin-unreachable",
            detail: "offline"
        ),
        GatewayLimit(
            "time for an origin to send more content",
            "60 s",
            nil,
            setting: "timeouts.receive",
            "the response breaks off, and is not stored"
        ),
        GatewayLimit(
            "time without a client for content that is being stored",
            "1 s",
            nil,
            "the fetch ends, and nothing is stored; at once if a request waits for its place. "
                + "10 s for content of known length that will be complete by then"
        ),
        GatewayLimit(
            "content of unknown length without a client",
            "8 MiB",
            8 << 20,
            "the fetch ends, and nothing is stored"
        ),
        GatewayLimit(
            "interim responses",
            "16",
            16,
            "the exchange fails, the connection is closed",
            status: 502,
            code: "transport-failed"
        ),
        GatewayLimit("kept connections", "64", 64, "one more to the same origin is closed after its exchange"),
        GatewayLimit(
            "variants",
            "32",
            32,
            setting: "store.variants-per-key",
            "the least recently used of the same key is evicted"
        ),
        GatewayLimit("stored body", "an eighth of `store.budget`", nil, "it passes, and is not stored"),
        GatewayLimit(
            "memory",
            "64 MiB",
            64 << 20,
            setting: "store.memory",
            "the least recently used stays on disk only"
        ),
        GatewayLimit(
            "resident body",
            "256 KiB",
            256 << 10,
            setting: "store.largest-resident-body",
            "it is read from disk as it is sent"
        ),
        GatewayLimit("disk", "1 GiB", 1 << 30, setting: "store.budget", "the least recently used is evicted"),
        GatewayLimit("pending writes", "64 MiB", 64 << 20, "further responses pass, and are not stored"),
    ]

    /// docs/limits.md
    package static var page: String {
        var page = """
            # Limits of the gateway

            Everything that could grow is limited. A client that exceeds a limit gets a response that names
            it: by the status, by the end of the problem's `type` (`urn:holdfast:problem:…`, RFC 9457) and by
            the `detail` of `Cache-Status`. The settings are those of the configuration file (see
            [Settings](../Sources/HoldfastConfiguration/HoldfastConfiguration.docc/Settings.md)). A limit
            without one is fixed for `holdfast serve`, and a property for programs. This page is generated
            from `GatewayLimit.all`, and a test compares the two.

            | Limit | Default | Setting | Beyond it | Status | Problem | Detail |
            |---|---|---|---|---|---|---|

            """
        for limit in all {
            func name(_ text: String?) -> String { text.map { "`\($0)`" } ?? "" }
            let status = limit.status.map(String.init) ?? ""
            let cells: [String] = [
                limit.name, limit.standard, name(limit.setting), limit.outcome, status, name(limit.code),
                name(limit.detail),
            ]
            page += "| \(cells.joined(separator: " | ")) |\n"
        }
        return page
    }
}
