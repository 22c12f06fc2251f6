// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let instrumentation: Target.Dependency = .product(name: "Instrumentation", package: "swift-distributed-tracing")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")

// Packages that a service with the library alone does not need: without the trait they are not
// resolved. 'scripts/consumer' holds this list to account.
let argumentParser = gatewayDependency("ArgumentParser", package: "swift-argument-parser")
let cryptoExtras = gatewayDependency("CryptoExtras", package: "swift-crypto")
let serviceLifecycle = gatewayDependency("ServiceLifecycle", package: "swift-service-lifecycle")
let unixSignals = gatewayDependency("UnixSignals", package: "swift-service-lifecycle")
let hummingbird = gatewayDependency("Hummingbird", package: "hummingbird")
let hummingbirdCore = gatewayDependency("HummingbirdCore", package: "hummingbird")
let hummingbirdTesting = gatewayDependency("HummingbirdTesting", package: "hummingbird")

func gatewayDependency(_ product: String, package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Gateway"]))
}

let package = Package(
    name: "holdfast",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "Holdfast", targets: ["Holdfast"]),
        .library(name: "HoldfastFleet", targets: ["HoldfastFleet"]),
        .library(name: "HTTPCache", targets: ["HTTPCache"]),
        .library(name: "HTTPCacheSemantics", targets: ["HTTPCacheSemantics"]),
        .library(name: "HoldfastConfiguration", targets: ["HoldfastConfiguration"]),
        .library(name: "HoldfastGateway", targets: ["HoldfastGateway"]),
        .library(name: "HoldfastMetrics", targets: ["HoldfastMetrics"]),
        .library(name: "HoldfastTesting", targets: ["HoldfastTesting"]),
        .library(name: "HoldfastTracing", targets: ["HoldfastTracing"]),
        .executable(name: "holdfast", targets: ["holdfast-cli"]),
        .executable(name: "cache-dump", targets: ["cache-dump"]),
        .executable(name: "sample-origin", targets: ["sample-origin"]),
    ],
    traits: [
        .trait(
            name: "Gateway",
            description: "The gateway, the commands, the sample origin and the examples. Holdfast needs none of them."
        ),
        // A clone builds whole. A package that depends on the library writes 'traits: []'.
        .default(enabledTraits: ["Gateway"]),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        // For tests alone, to compare with. AsyncHTTPClient brings it anyway.
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // A command, part of no product: scripts/docs.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // zlib of the system, for content codings.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"])]),
        // libnghttp2 of the system, for HTTP/2. Only the gateway links it.
        .systemLibrary(
            name: "CNGHTTP2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .yum(["libnghttp2-devel"]), .brew(["libnghttp2"])]
        ),
        // SQLite of the system, for the store.
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),

        // The modules. Each imports only modules above it. The layers are in docs/architecture.md.
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields], swiftSettings: settings),
        .target(
            name: "HTTPCache",
            dependencies: ["HTTPCacheSemantics", httpTypes, nioCore, crypto, logging, metrics, tracing],
            swiftSettings: settings
        ),
        // The operators' functions of a running engine and its store.
        .target(
            name: "HTTPCacheOperations",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, crypto, logging],
            swiftSettings: settings
        ),
        // For 'holdfast explain'. The engine does not import it.
        .target(
            name: "HTTPCacheExplaining",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastMigrations",
            path: "Migrations",
            sources: ["Migrations.swift"],
            resources: [.embedInCode("sql")],
            swiftSettings: settings
        ),
        .target(
            name: "OfflineStore",
            dependencies: [
                "CSQLite", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastMigrations", httpTypes,
                nioCore, logging,
                metrics,
            ],
            swiftSettings: settings
        ),
        // No server links it.
        .target(
            name: "OfflineStoreRecovery",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "OfflineStore"],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPClientTransport",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", asyncHTTPClient, httpTypes, nioCore, nioHTTP1, nioPosix, nioSSL,
                logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastConfiguration",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", httpTypes, yams],
            swiftSettings: settings
        ),
        .target(
            name: "Holdfast",
            dependencies: [
                "CZlib", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore",
                "HTTPClientTransport",
                "HoldfastConfiguration", httpTypes, nioCore, nioPosix, crypto, logging,
            ],
            swiftSettings: settings
        ),
        // The log of purges that the nodes of a fleet share.
        .target(
            name: "FleetTier",
            dependencies: [
                "HTTPCache", "HTTPCacheOperations", "HTTPCacheSemantics", crypto, httpTypes, logging, nioCore,
            ],
            swiftSettings: settings
        ),
        // A client of Redis, and the fleet log that is kept there.
        .target(
            name: "RedisTier",
            dependencies: ["FleetTier", "HTTPCache", nioCore, nioPosix, nioSSL, crypto],
            swiftSettings: settings
        ),
        // A client or a gateway joins a fleet with it.
        .target(
            name: "HoldfastFleet",
            dependencies: [
                "Holdfast", "HTTPCache", "HTTPCacheOperations", "HTTPCacheSemantics", "OfflineStore",
                "HoldfastConfiguration", "FleetTier",
                "RedisTier", nioCore, nioPosix, logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastTesting",
            dependencies: [
                "Holdfast", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", httpTypes, nioCore, nioPosix, logging,
            ],
            swiftSettings: settings
        ),

        .target(name: "LocalSockets", swiftSettings: settings),
        .target(
            name: "HoldfastMetrics",
            dependencies: [coreMetrics],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastTracing",
            dependencies: [
                "HTTPCacheSemantics", asyncHTTPClient, coreMetrics, instrumentation, logging, nioCore, nioHTTP1,
                tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastGateway",
            dependencies: [
                "CNGHTTP2", "LocalSockets", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastConfiguration",
                "HoldfastMetrics", "HoldfastTracing", crypto, cryptoExtras, httpTypes, instrumentation, nioCore,
                nioPosix,
                nioSSL, nioTLS, logging, serviceLifecycle, tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastControl",
            dependencies: [
                "LocalSockets", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastMetrics", httpTypes,
                nioCore, nioHTTP1,
                nioPosix, crypto, logging, hummingbird, hummingbirdCore, serviceLifecycle,
            ],
            resources: [.embedInCode("Page/Assets")],
            swiftSettings: settings
        ),

        // The executables: argument parsing and composition.
        .target(name: "CommandLineSupport", dependencies: [argumentParser], swiftSettings: settings),
        .executableTarget(
            name: "holdfast-cli",
            dependencies: [
                "HTTPCacheOperations", "CommandLineSupport", "Holdfast", "HoldfastFleet", "OfflineStore", "FleetTier",
                "HoldfastConfiguration",
                "HoldfastGateway", "HoldfastControl",
                "LocalSockets", "HoldfastMetrics", "HoldfastTracing", "HTTPCacheExplaining", argumentParser,
                asyncHTTPClient, crypto, logging, nioCore,
                nioHTTP1, nioPosix, serviceLifecycle, unixSignals,
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "cache-dump",
            dependencies: [
                "CommandLineSupport", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore",
                "OfflineStoreRecovery",
                argumentParser, httpTypes, nioCore,
            ],
            swiftSettings: settings
        ),

        // Examples: an origin for tests and demos, a repository on protocols, and a service that
        // uses it.
        .target(
            name: "SampleOrigin",
            dependencies: ["CZlib", hummingbird, crypto, httpTypes, logging, nioCore, nioHTTP1, nioPosix],
            path: "Examples/SampleOrigin",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "sample-origin",
            dependencies: ["SampleOrigin", argumentParser, logging],
            path: "Examples/sample-origin",
            swiftSettings: settings
        ),
        .target(
            name: "MomentsExample",
            dependencies: ["Holdfast"],
            path: "Examples/Moments",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "moments-service",
            dependencies: ["Holdfast", "MomentsExample", hummingbird, argumentParser, logging, nioCore],
            path: "Examples/Service",
            swiftSettings: settings
        ),

        .executableTarget(
            name: "key-probe",
            dependencies: ["Holdfast", "HoldfastTesting"],
            path: "Tests/KeyProbe",
            swiftSettings: settings
        ),
        // A process that uses a store, for tests that take its life, its disk or its power.
        .target(name: "FaultShim", path: "Tests/FaultShim"),
        .target(
            name: "FaultWorkload",
            dependencies: [
                "CSQLite", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", httpTypes, nioCore, logging,
            ],
            path: "Tests/FaultWorkload",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "store-worker",
            dependencies: ["FaultShim", "FaultWorkload", "OfflineStore", "Holdfast"],
            path: "Tests/StoreWorker",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "FaultWorkload", "store-worker", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", "Holdfast",
                "HoldfastTesting", "TestSupport", "SampleOrigin", httpTypes, nioCore, logging,
            ],
            swiftSettings: settings
        ),
        // A load with faults through the built gateway, judged by an oracle: scripts/soak.
        .executableTarget(
            name: "soak",
            dependencies: ["HTTP2Client"],
            path: "Tests/Soak",
            swiftSettings: settings
        ),
        .testTarget(name: "SoakTests", dependencies: ["soak"], swiftSettings: settings),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "SampleOrigin", "OfflineStore", "HTTPCacheExplaining", "TestSupport", "holdfast-cli", "cache-dump",
                "sample-origin", "key-probe", "moments-service",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPCacheSemanticsTests",
            dependencies: ["HTTPCacheSemantics", httpTypes],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastConfigurationTests",
            dependencies: [
                "HoldfastConfiguration", "HTTPCacheSemantics", "HTTPCache", httpTypes,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "OfflineStoreTests",
            dependencies: [
                "CSQLite", "FaultWorkload", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastMigrations", "OfflineStore",
                "OfflineStoreRecovery", "FleetTier", "FleetTesting", "TestSupport", httpTypes,
                nioCore, logging, metricsTestKit,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPClientTransportTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPClientTransport", "HoldfastTesting", "OfflineStore",
                "SampleOrigin", httpTypes, nioCore, nioPosix, nioSSL, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastTests",
            dependencies: [
                "Holdfast", "HoldfastConfiguration", "HoldfastTesting", "TestSupport", "HTTPCacheSemantics",
                "HTTPCache",
                "SampleOrigin", "CZlib", asyncHTTPClient, httpTypes, nioCore, nioHTTP1, crypto, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "MomentsExample", "moments-service", "Holdfast", "HoldfastTesting", "SampleOrigin", hummingbird,
                hummingbirdTesting, nioCore, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SampleOriginTests",
            dependencies: ["SampleOrigin", "CZlib", crypto, httpTypes, nioCore, nioPosix],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "HTTP2Client", "HTTPCacheSemantics", "HTTPCache", "HoldfastGateway", "HoldfastTesting", httpTypes,
                nioCore, nioPosix,
                logging,
            ],
            swiftSettings: settings
        ),
        // The client's side of HTTP/2, for tests that are not about frames.
        .target(
            name: "HTTP2Client",
            dependencies: ["CNGHTTP2"],
            path: "Tests/HTTP2Client",
            swiftSettings: settings
        ),
        // RFC 9113 and RFC 7541 in raw frames, for the gateway and, by the command, any server:
        // scripts/h2-cases.
        .target(
            name: "HTTP2Cases",
            dependencies: [nioCore, nioPosix],
            path: "Tests/HTTP2Cases",
            swiftSettings: settings
        ),
        .executableTarget(
            name: "h2-cases",
            dependencies: ["HTTP2Cases", nioCore, nioPosix],
            path: "Tests/HTTP2CasesTool",
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTP2ConformanceTests",
            dependencies: [
                "HTTP2Cases", "HTTPCacheSemantics", "HTTPCache", "HoldfastGateway", "HoldfastTesting", httpTypes,
                nioCore, nioPosix, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastTestingTests",
            dependencies: [
                "HoldfastTesting", "TestSupport", "HTTPCacheSemantics", "HTTPCache", "OfflineStore",
                "HTTPClientTransport",
                "HoldfastGateway", httpTypes, nioCore, nioPosix, logging,
            ],
            swiftSettings: settings
        ),
        // Every decision by failures, under one property.
        .testTarget(
            name: "FailureTests",
            dependencies: [
                "HTTPCache", "HTTPCacheSemantics", "HoldfastGateway", "HoldfastTesting", "OfflineStore", "RedisTier",
                "FleetTier",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastGatewayTests",
            dependencies: [
                "CNGHTTP2", "HTTP2Client", "HoldfastGateway", "LocalSockets", "HoldfastConfiguration",
                "HTTPCacheSemantics",
                "HTTPCache", "HTTPCacheOperations",
                "OfflineStore",
                "HoldfastTesting", "TestSupport", "HoldfastTracing", httpTypes, nioCore, nioPosix, nioSSL, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastControlTests",
            dependencies: [
                "HoldfastControl", "LocalSockets", "HoldfastMetrics", "HTTPCacheSemantics", "HTTPCache",
                "HTTPCacheOperations",
                "HoldfastTesting", "TestSupport", httpTypes, nioCore, nioHTTP1, nioPosix, nioEmbedded, logging, yams,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastTracingTests",
            dependencies: ["HoldfastTracing", instrumentation, logging, nioCore, tracing],
            swiftSettings: settings
        ),
        .target(
            name: "TestSupport",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "HoldfastTesting"],
            path: "Tests/TestSupport",
            swiftSettings: settings
        ),
        // Fleets in memory, and the contracts that they and those on Redis keep.
        .target(
            name: "FleetTesting",
            dependencies: ["FleetTier", "HTTPCache", "HTTPCacheSemantics", "HoldfastTesting", nioCore],
            path: "Tests/FleetTesting",
            swiftSettings: settings
        ),
        .testTarget(
            name: "FleetTierTests",
            dependencies: [
                "FleetTier", "FleetTesting", "HTTPCache", "HTTPCacheOperations", "HTTPCacheSemantics",
                "HoldfastTesting", "TestSupport", httpTypes, nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HoldfastFleetTests",
            dependencies: [
                "Holdfast", "HoldfastFleet", "FleetTier", "FleetTesting", "HTTPCache", "HTTPCacheSemantics",
                "HoldfastConfiguration", "HoldfastTesting", "TestSupport", httpTypes, logging, nioCore,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "RedisTierTests",
            dependencies: [
                "RedisTier", "FleetTier", "FleetTesting", "HTTPCache", "HTTPCacheSemantics", "HoldfastTesting",
                "TestSupport",
                httpTypes, nioCore, nioEmbedded, nioPosix, nioSSL,
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "HoldfastMetricsTests", dependencies: ["HoldfastMetrics", metrics], swiftSettings: settings),
        .testTarget(
            name: "FuzzReplayTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", "HoldfastGateway", "OfflineStore",
                "RedisTier", "FleetTier", "CNGHTTP2", httpTypes, nioCore, nioHPACK,
            ],
            // A link to the fuzzers' target functions; these two belong to their process.
            exclude: ["Targets/main.swift", "Targets/Require.swift"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastTesting", httpTypes, nioCore,
                logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SharingSimulationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "FleetTier", "FleetTesting", "OfflineStore", "HoldfastTesting",
                "TestSupport",
                httpTypes, nioCore, logging,
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPCacheTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HTTPCacheExplaining", "HoldfastTesting",
                "TestSupport",
                httpTypes, nioCore,
                logging, metricsTestKit,
            ],
            swiftSettings: settings
        ),
    ]
)
