import HTTPCacheSemantics
import Testing

@testable import HoldfastTracing

/// The environment variables of OpenTelemetry.
@Suite(.timeLimit(.minutes(20))) struct TracingConfigurationTests {
    private let base = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"]

    private func read(_ more: [String: String]) throws -> TracingConfiguration? {
        let (configuration, warnings) = try readWarning(more)
        #expect(warnings.isEmpty)
        return configuration
    }

    private func readWarning(_ more: [String: String]) throws -> (TracingConfiguration?, warnings: [String]) {
        var warnings: [String] = []
        let configuration = try TracingConfiguration(environment: base.merging(more) { $1 }) { warnings.append($0) }
        return (configuration, warnings)
    }

    @Test func withoutAnEndpointNothingIsRead() throws {
        let environment = ["OTEL_TRACES_SAMPLER": "nonsense", "OTEL_EXPORTER_OTLP_ENDPOINT": ""]
        let configuration = try TracingConfiguration(environment: environment) { Issue.record("\($0)") }
        #expect(configuration == nil)
        #expect(try read(["OTEL_SDK_DISABLED": "TRUE"]) == nil)
        #expect(try read(["OTEL_TRACES_EXPORTER": "none"]) == nil)
    }

    @Test func theDefaultsAreThoseOfOpenTelemetry() throws {
        let configuration = try #require(try read([:]))
        #expect(configuration.endpoint == "http://localhost:4318/v1/traces")
        #expect(configuration.sampler == .standard && configuration.timeout == .seconds(10))
        #expect(configuration.queueLimit == 2048 && configuration.batchLimit == 512)
        #expect(configuration.interval == .seconds(5) && configuration.batchTimeout == .seconds(30))
        #expect(configuration.resource(version: "1").first?.value == "holdfast")
    }

    @Test func valuesAreRead() throws {
        let configuration = try #require(
            try read([
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://[::1]:4318/x",
                "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=Basic%20x%3D, c = 2",
                "OTEL_SERVICE_NAME": "shop", "OTEL_RESOURCE_ATTRIBUTES": "service.name=no,zone=a%2Cb",
                "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25",
                "OTEL_BSP_MAX_QUEUE_SIZE": "100",
            ])
        )
        #expect(configuration.endpoint == "https://[::1]:4318/x")
        #expect(configuration.fields.map { "\($0.name): \($0.value)" } == ["b: Basic x=", "c: 2"])
        #expect(
            configuration.resource(version: "1").prefix(2).map { "\($0.name)=\($0.value)" } == [
                "service.name=shop", "zone=a,b",
            ]
        )
        #expect(configuration.sampler == Sampler(.ratio(0.25), isParentBased: false))
        #expect(configuration.queueLimit == 100 && configuration.batchLimit == 100)
    }

    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318"), ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:x"),
    ])
    func aWrongEndpointIsNamed(_ name: String, _ value: String) {
        let error = #expect(throws: InvalidSetting.self) { try read([name: value]) }
        #expect(error?.description.contains("'\(name)' in the environment must be ") == true)
        #expect(error?.description.contains("'\(value)'") == true)
    }

    /// The variables are meant for other programs, too.
    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"), ("OTEL_SDK_DISABLED", "yes"),
        ("OTEL_TRACES_SAMPLER", "sometimes"), ("OTEL_BSP_MAX_QUEUE_SIZE", "70000"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4096"), ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
    ])
    func anUnknownValueIsIgnoredWithAWarning(_ name: String, _ value: String) throws {
        let (configuration, warnings) = try readWarning([name: value])
        let read = try #require(configuration)
        #expect(read.sampler == .standard && read.timeout == .seconds(10) && read.interval == .seconds(5))
        #expect(read.queueLimit == 2048 && read.batchLimit == 512)
        #expect(warnings.count == 1 && warnings[0].hasPrefix("'\(name)' in the environment must be "))
        #expect(warnings[0].hasSuffix(", not '\(value)'. The variable is ignored."))
    }

    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
    ])
    func withoutAKnownWayNothingIsSent(_ name: String, _ value: String) throws {
        let (configuration, warnings) = try readWarning([name: value])
        #expect(configuration == nil)
        #expect(warnings.count == 1 && warnings[0].hasPrefix("'\(name)' in the environment must be "))
        #expect(warnings[0].hasSuffix(", not '\(value)'. No traces are sent."))
    }

    @Test func theVariableForTracesGoesBeforeTheOther() throws {
        let both = ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"]
        #expect(try read(both) != nil)
        #expect(try read(["OTEL_TRACES_EXPORTER": "console, otlp"]) != nil)
    }

    @Test func attributesThatCannotBeReadAreLeftOut() throws {
        let (configuration, warnings) = try readWarning(["OTEL_RESOURCE_ATTRIBUTES": "zone=a,=s3cret"])
        let resource = try #require(configuration).resource(version: "1")
        #expect(!resource.contains { $0.name == "zone" } && resource.first?.value == "holdfast")
        #expect(
            warnings.count == 1 && warnings[0].hasSuffix("The variable is ignored.") && !warnings[0].contains("s3cret")
        )
    }

    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=1,s3cret"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%0a"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://u:s3cret@h"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h?key=s3cret"),
    ])
    func secretsAreNotShown(_ name: String, _ value: String) {
        let error = #expect(throws: InvalidSetting.self) { try read([name: value]) }
        #expect(error?.description.contains("s3cret") == false && error?.description.contains(name) == true)
    }

    @Test func theSamplerFollowsTheParent() throws {
        let trace = try #require(TraceID(high: 1, low: .max))
        let sampled = TraceContext(traceID: trace, spanID: 1, isSampled: true)
        let unsampled = TraceContext(traceID: trace, spanID: 1, isSampled: false)
        let never = try #require(Sampler(name: "parentbased_always_off", ratio: 1))
        #expect(never.samples(below: sampled) && !never.samples(below: unsampled) && !never.samples(trace))
        let always = try #require(Sampler(name: "always_on", ratio: 1))
        #expect(always.samples(below: unsampled))
        let half = try #require(Sampler(name: "parentbased_traceidratio", ratio: 0.5))
        let low = try #require(TraceID(high: 1, low: 1 << 62))
        #expect(!half.samples(trace) && half.samples(low))
        let all = try #require(Sampler(name: "traceidratio", ratio: 1))
        #expect(all.samples(trace))
        let none = try #require(Sampler(name: "traceidratio", ratio: 0))
        let lowest = try #require(TraceID(high: 1, low: 0))
        #expect(!none.samples(lowest))
    }
}
