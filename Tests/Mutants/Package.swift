// swift-tools-version: 6.2
import PackageDescription

// The policy, the engine, the store, the gateway, its control plane and the fleet with their
// tests, and nothing else: what scripts/mutants builds again for each change. It copies this file
// into a folder of its own, next to copies of Sources and Tests. Settings and versions are those of
// the package itself.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // No warning is an error here: a change that breaks a rule may leave a value unused.
]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let metricsTestKit: Target.Dependency = .product(name: "MetricsTestKit", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let instrumentation: Target.Dependency = .product(name: "Instrumentation", package: "swift-distributed-tracing")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let package = Package(
    name: "mutants",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    ],
    targets: [
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CProcess"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"])]),
        .target(
            name: "HoldfastMigrations",
            path: "Migrations",
            sources: ["Migrations.swift"],
            resources: [.embedInCode("sql")]
        ),
        // The files of a store: its folder, locks and encodings, without SQLite.
        .target(name: "StoreFiles", dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", httpTypes]),
        // A store's state outside its files.
        .target(
            name: "StoreMemory",
            dependencies: ["CacheEviction", "HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore]
        ),
        .target(
            name: "OfflineStore",
            dependencies: [
                "LibC", "CProcess", "CSQLite", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastMigrations", "StoreFiles", "StoreMemory", httpTypes, nioCore, logging, metrics,
            ]
        ),
        .target(
            name: "OfflineStoreRecovery",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", "StoreFiles", "OfflineStore"]
        ),
        .target(
            name: "FaultWorkload",
            dependencies: ["CSQLite", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", httpTypes, nioCore, logging],
            path: "Tests/FaultWorkload"
        ),
        .target(name: "LibC"),
        .target(name: "CacheEviction"),
        .testTarget(name: "CacheEvictionTests", dependencies: ["CacheEviction", "HoldfastTesting"]),
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields]),
        .target(
            name: "HTTPCache",
            dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore, crypto, logging, metrics, tracing]
        ),
        .target(
            name: "HTTPCacheOperations",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, crypto, logging]
        ),
        .target(name: "HTTPCacheExplaining", dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes]),
        .target(
            name: "FleetTier",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", crypto, httpTypes, logging, nioCore,
            ]
        ),
        .target(
            name: "TestSupport",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "HoldfastTesting", httpTypes, nioSSL, logging],
            path: "Tests/TestSupport"
        ),
        .target(
            name: "FleetTesting",
            dependencies: ["FleetTier", "HTTPCache", "HTTPCacheSemantics", "HoldfastTesting", nioCore],
            path: "Tests/FleetTesting"
        ),
        .testTarget(
            name: "FleetTierTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "FleetTier", "FleetTesting",
                "HoldfastTesting", "TestSupport", httpTypes, nioCore, logging,
            ]
        ),
        .target(
            name: "RedisTier",
            dependencies: ["LibC", "LocalFiles", "FleetTier", "HTTPCache", nioCore, nioPosix, nioSSL, crypto]
        ),
        .testTarget(
            name: "RedisTierTests",
            dependencies: [
                "RedisTier", "FleetTier", "FleetTesting", "HTTPCache", "HTTPCacheSemantics", "HoldfastTesting",
                "TestSupport", httpTypes, nioCore, nioEmbedded, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "SharingSimulationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "FleetTier", "FleetTesting", "OfflineStore",
                "HoldfastTesting", "TestSupport", httpTypes, nioCore, logging,
            ]
        ),
        .target(
            name: "HoldfastTesting",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, nioPosix, logging],
            // These need the request layer, which is not here.
            exclude: ["Client", "Network/ScriptedTransport+Samples.swift"]
        ),
        .target(name: "CacheRules", dependencies: ["LocalFiles", "HTTPCacheSemantics", "HTTPCache", httpTypes]),
        .target(
            name: "HoldfastConfiguration",
            dependencies: [
                "LibC", "LocalFiles", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "CacheRules", httpTypes,
                yams,
            ]
        ),
        .target(name: "LocalSockets", dependencies: ["LibC"]),
        .target(name: "LocalFiles", dependencies: ["LibC"]),
        .target(
            name: "HoldfastTracing",
            dependencies: [
                "HTTPCacheSemantics", asyncHTTPClient, coreMetrics, instrumentation, logging, nioCore, nioHTTP1,
                tracing,
            ]
        ),
        .testTarget(
            name: "HoldfastTracingTests",
            dependencies: [
                "HTTPCacheSemantics", "HoldfastTracing", "TestSupport", instrumentation, logging, nioCore, tracing,
            ]
        ),
        .target(name: "HTTPWire", dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore]),
        .target(name: "EventLoops", dependencies: ["LibC", "HTTPCache", nioCore, nioPosix, nioSSL]),
        .target(
            name: "TLSCertificates",
            dependencies: [
                "LibC", "LocalFiles", "HoldfastConfiguration", crypto, cryptoExtras, nioCore, nioPosix, nioSSL, logging,
            ]
        ),
        .target(
            name: "GatewayRouting",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastConfiguration", "HTTPWire",
                httpTypes, nioCore,
            ]
        ),
        .target(
            name: "OriginConnections",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", "HoldfastTracing",
                "HoldfastMetrics", "HTTPWire", "EventLoops", "TLSCertificates", "GatewayRouting", httpTypes,
                instrumentation, nioCore, nioPosix, nioSSL, nioTLS, logging, serviceLifecycle, tracing,
            ]
        ),
        .target(
            name: "HoldfastGateway",
            dependencies: [
                "LibC", "CNGHTTP2", "CZlib", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastConfiguration", "HoldfastTracing", "HoldfastMetrics", "LocalSockets", "HTTPWire",
                "EventLoops", "TLSCertificates", "GatewayRouting", "OriginConnections", crypto, httpTypes,
                instrumentation, nioCore, nioPosix, nioSSL, nioTLS, logging, serviceLifecycle, tracing,
            ]
        ),
        .target(name: "HoldfastMetrics", dependencies: ["LibC", coreMetrics]),
        .target(
            name: "HoldfastControl",
            dependencies: [
                "LibC", "LocalSockets", "LocalFiles", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastMetrics",
                httpTypes,
                nioCore, nioHTTP1, nioPosix, crypto, logging, hummingbird, hummingbirdCore, serviceLifecycle,
            ],
            resources: [.embedInCode("Page/Assets")]
        ),
        .testTarget(
            name: "HoldfastControlTests",
            dependencies: [
                "HoldfastControl", "LocalSockets", "LocalFiles", "HoldfastMetrics", "HTTPCacheSemantics", "HTTPCache",
                "HTTPCacheOperations", "HoldfastTesting", "TestSupport", httpTypes, nioCore, nioPosix, nioEmbedded,
                logging, serviceLifecycle, yams,
            ]
        ),
        .testTarget(
            name: "HoldfastMetricsTests",
            dependencies: ["HoldfastMetrics", metrics]
        ),
        .testTarget(
            name: "HTTPCacheSemanticsTests",
            dependencies: ["HTTPCacheSemantics", "HoldfastTesting", httpTypes]
        ),
        .testTarget(
            name: "HTTPCacheTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HTTPCacheExplaining", "HoldfastTesting",
                "TestSupport", httpTypes, nioCore, logging, metricsTestKit,
            ]
        ),
        .testTarget(
            name: "FailureTests",
            dependencies: [
                "HTTPCache", "HTTPCacheSemantics", "OriginConnections", "HoldfastGateway", "HoldfastTesting",
                "OfflineStore", "RedisTier", "FleetTier",
            ]
        ),
        .target(name: "HTTP2Client", dependencies: ["CNGHTTP2"], path: "Tests/HTTP2Client"),
        .testTarget(
            name: "HoldfastGatewayTests",
            dependencies: [
                "CNGHTTP2", "CZlib", "HTTP2Client", "HTTPWire", "EventLoops", "GatewayRouting", "TLSCertificates",
                "OriginConnections", "HoldfastGateway", "LocalSockets", "CacheRules", "HoldfastConfiguration",
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore", "HoldfastTesting",
                "TestSupport", "HoldfastTracing", "LibC", crypto, httpTypes, nioCore, nioPosix, nioSSL, logging,
            ],
            // They compare with pages of the documentation, which are not here.
            exclude: ["Documentation/FieldPageTests.swift", "Documentation/LimitPageTests.swift"]
        ),
        .testTarget(
            name: "OfflineStoreTests",
            dependencies: [
                "CProcess", "CSQLite", "FaultWorkload", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastMigrations", "StoreFiles", "StoreMemory", "OfflineStore", "OfflineStoreRecovery", "FleetTier",
                "FleetTesting",
                "TestSupport", httpTypes, nioCore, logging, metricsTestKit,
            ]
        ),
    ]
)

for target in package.targets where target.type != .system { target.swiftSettings = settings }
