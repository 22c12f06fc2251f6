public import HTTPCacheSemantics

/// Whether and where spans are exported, from the environment variables of OpenTelemetry.
public struct TracingConfiguration: Sendable {
    /// The URL to which batches are sent.
    package let endpoint: String
    /// The fields of each export request. They may contain credentials.
    let fields: [(name: String, value: String)]
    /// The time limit for one request.
    let timeout: Duration
    let serviceName: String
    let attributes: [(name: String, value: String)]
    /// Decides which requests get spans.
    package let sampler: Sampler
    /// The maximum number of queued spans.
    let queueLimit: Int
    /// The default queue limit, which is also OpenTelemetry's default.
    package static let standardQueueLimit = 2048
    /// The maximum number of spans in one export request.
    let batchLimit: Int
    /// The interval at which spans are sent, unless a batch is full earlier.
    let interval: Duration
    /// The time limit for a batch, including all attempts.
    let batchTimeout: Duration

    /// Reads the variables.
    ///
    /// All programs with OpenTelemetry support share these variables, so they are ignored unless an
    /// endpoint is set. For the same reason, an unknown value is not an error. It is ignored with a
    /// warning. For an unknown protocol or exporter, no traces are sent.
    ///
    /// - Parameter warn: receives a sentence for each ignored value.
    /// - Returns: `nil` if nothing should be sent.
    /// - Throws: `InvalidSetting` if the collector's address or the fields for the collector are
    ///   invalid. The error contains the value unless it may be a secret.
    public init?(environment: [String: String], warn: @escaping (String) -> Void) throws(InvalidSetting) {
        let variables = Variables(environment, warn: warn)
        let own = variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
        guard let base = own ?? variables["OTEL_EXPORTER_OTLP_ENDPOINT"],
            !variables.bool("OTEL_SDK_DISABLED"), variables.exportsTraces
        else { return nil }
        let name = own == nil ? "OTEL_EXPORTER_OTLP_ENDPOINT" : "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
        try Self.check(endpoint: base, of: name)
        endpoint = own ?? base + (base.hasSuffix("/") ? "v1/traces" : "/v1/traces")
        fields = try variables.pairs(variables.nameForTraces("HEADERS"), areFields: true)
        let transfer = variables.nameForTraces("PROTOCOL")
        guard variables.choice(transfer, ["http/protobuf"], otherwise: Variables.noTraces) != .unknown else {
            return nil
        }
        _ = variables.choice(variables.nameForTraces("COMPRESSION"), ["none"])
        timeout = .milliseconds(variables.number(variables.nameForTraces("TIMEOUT"), 1...600_000, or: 10_000))
        let pairs = variables.pairs("OTEL_RESOURCE_ATTRIBUTES")
        let named = pairs.last { $0.name == "service.name" && !$0.value.isEmpty }?.value
        serviceName = variables["OTEL_SERVICE_NAME"] ?? named ?? "holdfast"
        attributes = pairs.filter { $0.name != "service.name" }
        if case .known(let name) = variables.choice("OTEL_TRACES_SAMPLER", Sampler.names) {
            let ratio = name.hasSuffix("traceidratio") ? variables.ratio("OTEL_TRACES_SAMPLER_ARG") : 1
            sampler = Sampler(name: name, ratio: ratio) ?? .standard
        } else {
            sampler = .standard
        }
        queueLimit = variables.number("OTEL_BSP_MAX_QUEUE_SIZE", 1...65_536, or: Self.standardQueueLimit)
        batchLimit = variables.number(
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
            1...queueLimit,
            or: min(512, queueLimit)
        )
        interval = .milliseconds(variables.number("OTEL_BSP_SCHEDULE_DELAY", 1...600_000, or: 5000))
        batchTimeout = .milliseconds(variables.number("OTEL_BSP_EXPORT_TIMEOUT", 1...600_000, or: 30_000))
    }

    /// Checks an endpoint. It is logged, so it must not contain secrets.
    private static func check(endpoint: String, of variable: String) throws(InvalidSetting) {
        func refusal(_ shown: String) -> InvalidSetting {
            InvalidSetting(
                "'\(variable)' in the environment must be an http or https URL such as 'http://localhost:4318', with a host "
                    + "and without user, query or fragment; \(shown) is not. Put credentials in 'OTEL_EXPORTER_OTLP_HEADERS'."
            )
        }
        guard !endpoint.utf8.contains(where: { "@?#".utf8.contains($0) }) else { throw refusal("its value") }
        let scheme = endpoint.prefix { $0 != ":" }.lowercased()
        let rest = endpoint.dropFirst(scheme.count)
        guard scheme == "http" || scheme == "https", rest.hasPrefix("://"),
            endpoint.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else { throw refusal("'\(endpoint)'") }
        let authority = rest.dropFirst(3).prefix { $0 != "/" }
        let port = authority.hasSuffix("]") ? nil : authority.lastIndex(of: ":").map { authority[$0...].dropFirst() }
        let host = port.map { authority.dropLast($0.count + 1) } ?? authority
        guard !host.isEmpty, port.map({ UInt16($0).map { $0 > 0 } ?? false }) ?? true else {
            throw refusal("'\(endpoint)'")
        }
    }

    /// Returns the attributes of this process.
    func resource(version: String) -> [(name: String, value: String)] {
        let given = Set(attributes.map(\.name))
        let own = [
            ("service.version", version), ("telemetry.sdk.language", "swift"), ("telemetry.sdk.name", "holdfast"),
            ("telemetry.sdk.version", version),
        ]
        return [("service.name", serviceName)] + attributes
            + own.filter { !given.contains($0.0) }.map { (name: $0.0, value: $0.1) }
    }

    /// The variables, for a help text.
    package static let help = """
        OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT   URL of the collector; if unset, nothing is traced
        OTEL_EXPORTER_OTLP_HEADERS, _TRACES_HEADERS                       request fields for the collector, as name=value,name=value
        OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_PROTOCOL           in milliseconds (default: 10000); http/protobuf
        OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES                       the name of this process (default: holdfast) and its attributes
        OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG                      which requests are traced (default: parentbased_always_on)
        OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER                           true or none, respectively, turns tracing off
        OTEL_BSP_MAX_QUEUE_SIZE, _MAX_EXPORT_BATCH_SIZE, _SCHEDULE_DELAY, _EXPORT_TIMEOUT
        """
}
