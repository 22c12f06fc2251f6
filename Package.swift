// swift-tools-version: 6.2
import PackageDescription

// Every Swift target has these settings: see the end.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

// Products of other packages that the libraries use.
func product(_ name: String, package: String) -> Target.Dependency { .product(name: name, package: package) }

let asyncHTTPClient = product("AsyncHTTPClient", package: "async-http-client")
let coreMetrics = product("CoreMetrics", package: "swift-metrics")
let crypto = product("Crypto", package: "swift-crypto")
let httpTypes = product("HTTPTypes", package: "swift-http-types")
let instrumentation = product("Instrumentation", package: "swift-distributed-tracing")
let logging = product("Logging", package: "swift-log")
let metrics = product("Metrics", package: "swift-metrics")
let nioCore = product("NIOCore", package: "swift-nio")
let nioHTTP1 = product("NIOHTTP1", package: "swift-nio")
let nioPosix = product("NIOPosix", package: "swift-nio")
let nioSSL = product("NIOSSL", package: "swift-nio-ssl")
let nioTLS = product("NIOTLS", package: "swift-nio")
let structuredFields = product("RawStructuredFieldValues", package: "swift-http-structured-headers")
let tracing = product("Tracing", package: "swift-distributed-tracing")
let yams = product("Yams", package: "Yams")

// Products that only tests use.
let metricsTestKit = product("MetricsTestKit", package: "swift-metrics")
let nioEmbedded = product("NIOEmbedded", package: "swift-nio")
let nioHPACK = product("NIOHPACK", package: "swift-nio-http2")

// Products that only the gateway, the tools and the examples use. Without the trait, a package that
// nothing else needs is not resolved; 'scripts/consumer' checks this.
func gatewayDependency(_ product: String, package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: ["Gateway"]))
}

let argumentParser = gatewayDependency("ArgumentParser", package: "swift-argument-parser")
let cryptoExtras = gatewayDependency("CryptoExtras", package: "swift-crypto")
let hummingbird = gatewayDependency("Hummingbird", package: "hummingbird")
let hummingbirdCore = gatewayDependency("HummingbirdCore", package: "hummingbird")
let hummingbirdTesting = gatewayDependency("HummingbirdTesting", package: "hummingbird")
let serviceLifecycle = gatewayDependency("ServiceLifecycle", package: "swift-service-lifecycle")
let swiftASN1 = gatewayDependency("SwiftASN1", package: "swift-asn1")
let unixSignals = gatewayDependency("UnixSignals", package: "swift-service-lifecycle")
let x509 = gatewayDependency("X509", package: "swift-certificates")

let package = Package(
    name: "holdfast",
    // The least that 'Mutex' and task executors allow. Linux is tested; on these platforms, only
    // the imports were checked.
    platforms: [.macOS(.v15), .iOS(.v18)],
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
        // For 'RunCertificates', which only the command 'holdfast' links.
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.0"),
        // A command, part of no product: scripts/docs.
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"),
    ],
    targets: [
        // Libraries of the system: zlib for content codings, nghttp2 for the gateway's HTTP/2,
        // SQLite for the store.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"])]),
        .systemLibrary(
            name: "CNGHTTP2",
            pkgConfig: "libnghttp2",
            providers: [.apt(["libnghttp2-dev"]), .yum(["libnghttp2-devel"]), .brew(["libnghttp2"])]
        ),
        // Functions of the C library that Swift cannot call.
        .systemLibrary(name: "CProcess"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"]), .yum(["sqlite-devel"])]),

        // The modules, from the lowest layer to the highest (docs/architecture.md). Each imports
        // only modules that are listed before it.
        // The platform's C library under one name.
        .target(name: "LibC"),
        // Files that are read whole, and who may have access to secrets.
        .target(name: "LocalFiles", dependencies: ["LibC"]),
        // Which entries of a cache to evict.
        .target(name: "CacheEviction"),
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields]),
        .target(
            name: "HTTPCache",
            dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore, crypto, logging, metrics, tracing]
        ),
        // The operators' functions of a running engine and its store.
        .target(
            name: "HTTPCacheOperations",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, crypto, logging]
        ),
        // The log of purges and the responses that the nodes of a fleet share.
        .target(
            name: "FleetTier",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", crypto, httpTypes, logging, nioCore,
            ]
        ),

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
                "LibC", "CProcess", "CSQLite", "CacheEviction", "HTTPCacheSemantics", "HTTPCache",
                "HTTPCacheOperations", "HoldfastMigrations", "StoreFiles", "StoreMemory", httpTypes, nioCore, logging,
                metrics,
            ]
        ),
        .target(
            name: "HTTPClientTransport",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", asyncHTTPClient, httpTypes, nioCore, nioHTTP1, nioPosix,
                nioSSL,
                logging,
            ]
        ),
        // The rules of services and of configuration files, without the files.
        .target(name: "CacheRules", dependencies: ["LocalFiles", "HTTPCacheSemantics", "HTTPCache", httpTypes]),
        .target(
            name: "HoldfastConfiguration",
            dependencies: [
                "LibC", "LocalFiles", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "CacheRules", httpTypes,
                yams,
            ]
        ),
        // A client of Redis, and the fleet log and values that are kept there.
        .target(
            name: "RedisTier",
            dependencies: ["LibC", "LocalFiles", "HTTPCache", "FleetTier", nioCore, nioPosix, nioSSL, crypto]
        ),
        .target(
            name: "HoldfastTracing",
            dependencies: [
                "HTTPCacheSemantics", asyncHTTPClient, coreMetrics, instrumentation, logging, nioCore, nioHTTP1,
                tracing,
            ]
        ),
        .target(name: "HoldfastMetrics", dependencies: ["LibC", coreMetrics]),
        .target(name: "LocalSockets", dependencies: ["LibC"]),

        // The parts of the gateway: docs/decisions/0072.
        // HTTP/1 messages, and what the requests of every protocol share.
        .target(name: "HTTPWire", dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore]),
        // Sockets, deadlines and tasks of one event loop.
        .target(name: "EventLoops", dependencies: ["LibC", "HTTPCache", nioCore, nioPosix, nioSSL]),
        // Certificates and keys, for listeners and for connections to origins.
        .target(
            name: "TLSCertificates",
            dependencies: [
                "LibC", "LocalFiles", "HoldfastConfiguration", crypto, cryptoExtras, nioCore, nioPosix, nioSSL,
                logging,
            ]
        ),
        // Which origin a request goes to, and the rewriting of URLs on the way back.
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
        .target(
            name: "HoldfastControl",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastMetrics", "LocalSockets",
                "LocalFiles", httpTypes,
                nioCore, nioHTTP1, nioPosix, crypto, logging, hummingbird, hummingbirdCore, serviceLifecycle,
            ],
            resources: [.embedInCode("Page/Assets")]
        ),
        // Parameters, content and JSON as values, and the errors of the request layer.
        .target(
            name: "HoldfastContent",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, nioPosix, crypto]
        ),
        .target(
            name: "Holdfast",
            dependencies: [
                "LibC", "CZlib", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore",
                "HTTPClientTransport", "CacheRules", "HoldfastConfiguration", "HoldfastContent", httpTypes, nioCore,
                nioPosix, crypto, logging,
            ]
        ),

        // No server links it.
        .target(
            name: "OfflineStoreRecovery",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", "StoreFiles", "OfflineStore"]
        ),
        // For 'holdfast explain'. The engine does not import it.
        .target(name: "HTTPCacheExplaining", dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes]),
        // A client or a gateway joins a fleet with it.
        .target(
            name: "HoldfastFleet",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore", "HoldfastConfiguration",
                "Holdfast", "FleetTier", "RedisTier", "LocalFiles", nioCore, nioPosix, logging,
            ]
        ),
        .target(
            name: "HoldfastTesting",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", "Holdfast", httpTypes, nioCore, nioPosix,
                logging,
            ]
        ),

        // The certificates of one run of a command. No server links it: docs/decisions/0109.
        .target(name: "RunCertificates", dependencies: ["LibC", crypto, swiftASN1, x509]),

        // The programs: argument parsing and composition.
        .target(name: "CommandLineSupport", dependencies: ["LibC", argumentParser]),
        .executableTarget(
            name: "holdfast-cli",
            dependencies: [
                "LibC", "LocalFiles", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HTTPCacheExplaining",
                "StoreFiles", "OfflineStore", "HoldfastConfiguration",
                "HoldfastMetrics", "HoldfastTracing", "LocalSockets", "HoldfastGateway", "HoldfastControl", "Holdfast",
                "FleetTier", "HoldfastFleet", "CProcess", "RunCertificates", "CommandLineSupport", argumentParser,
                asyncHTTPClient, crypto, logging, nioCore, nioHTTP1, nioPosix, nioSSL, serviceLifecycle, unixSignals,
            ]
        ),
        .executableTarget(
            name: "cache-dump",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore", "OfflineStoreRecovery",
                "CommandLineSupport", argumentParser, httpTypes, nioCore,
            ]
        ),

        // Examples: an origin for tests and demos, a repository on protocols, and a service that
        // uses it.
        .target(
            name: "SampleOrigin",
            dependencies: ["CZlib", hummingbird, crypto, httpTypes, logging, nioCore, nioHTTP1, nioPosix],
            path: "Examples/SampleOrigin"
        ),
        .executableTarget(
            name: "sample-origin",
            dependencies: ["SampleOrigin", argumentParser, logging],
            path: "Examples/sample-origin"
        ),
        .target(name: "MomentsExample", dependencies: ["Holdfast"], path: "Examples/Moments"),
        .executableTarget(
            name: "moments-service",
            dependencies: ["Holdfast", "MomentsExample", hummingbird, argumentParser, logging, nioCore],
            path: "Examples/Service"
        ),

        // Code that several test targets use: contracts of protocols that are not public, folders,
        // logs, child processes, sockets, certificates, processor time.
        .target(
            name: "TestSupport",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "HoldfastTesting", httpTypes, nioSSL, logging],
            path: "Tests/TestSupport"
        ),
        // Fleets in memory, and the contracts that they and those on Redis keep.
        .target(
            name: "FleetTesting",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "FleetTier", "HoldfastTesting", nioCore],
            path: "Tests/FleetTesting"
        ),
        // A process that uses a store, for tests that take its life, its disk or its power.
        .target(name: "FaultShim", path: "Tests/FaultShim"),
        .target(
            name: "FaultWorkload",
            dependencies: ["CSQLite", "HTTPCacheSemantics", "HTTPCache", "OfflineStore", httpTypes, nioCore, logging],
            path: "Tests/FaultWorkload"
        ),
        .executableTarget(
            name: "store-worker",
            dependencies: ["FaultShim", "FaultWorkload", "HTTPCache", "OfflineStore", "Holdfast"],
            path: "Tests/StoreWorker"
        ),
        // The client's side of HTTP/2, for tests that are not about frames.
        .target(name: "HTTP2Client", dependencies: ["CNGHTTP2"], path: "Tests/HTTP2Client"),
        // RFC 9113 and RFC 7541 in raw frames, for the gateway and, by the command, any server:
        // scripts/h2-cases. Every build with tests builds the command, which is one file. In a
        // package of its own, it would need a second build of NIO.
        .target(name: "HTTP2Cases", dependencies: [nioCore, nioPosix], path: "Tests/HTTP2Cases"),
        .executableTarget(
            name: "h2-cases",
            dependencies: ["HTTP2Cases", nioCore, nioPosix],
            path: "Tests/HTTP2CasesTool"
        ),
        // Prints keys, which tests compare between processes.
        .executableTarget(
            name: "key-probe",
            dependencies: ["HTTPCache", "Holdfast", "HoldfastTesting"],
            path: "Tests/KeyProbe"
        ),
        // A load with faults through the built gateway, judged by an oracle: scripts/soak.
        .executableTarget(name: "soak", dependencies: ["HTTP2Client"], path: "Tests/Soak"),

        // The tests, in the order of their modules.
        .testTarget(name: "CacheEvictionTests", dependencies: ["CacheEviction", "HoldfastTesting"]),
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
            name: "FleetTierTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "FleetTier", "HoldfastTesting", "TestSupport",
                "FleetTesting", httpTypes, nioCore,
            ]
        ),
        .testTarget(
            name: "OfflineStoreTests",
            dependencies: [
                "CProcess", "CSQLite", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "FleetTier",
                "HoldfastMigrations", "CacheEviction", "StoreFiles", "StoreMemory", "OfflineStore",
                "OfflineStoreRecovery", "TestSupport", "FleetTesting", "FaultWorkload", httpTypes, nioCore, logging,
                metricsTestKit,
            ]
        ),
        .testTarget(
            name: "HTTPClientTransportTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "OfflineStore", "HTTPClientTransport", "HoldfastTesting",
                "TestSupport", "SampleOrigin", httpTypes, nioCore, nioPosix, nioSSL, logging,
            ]
        ),
        .testTarget(
            name: "HoldfastConfigurationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "CacheRules", "HoldfastConfiguration", "TestSupport", httpTypes,
            ]
        ),
        .testTarget(
            name: "RedisTierTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "FleetTier", "RedisTier", "HoldfastTesting", "TestSupport",
                "FleetTesting", httpTypes, nioCore, nioEmbedded, nioPosix, nioSSL,
            ]
        ),
        .testTarget(
            name: "HoldfastTracingTests",
            dependencies: [
                "HTTPCacheSemantics", "HoldfastTracing", "TestSupport", instrumentation, logging, nioCore, tracing,
            ]
        ),
        .testTarget(name: "HoldfastMetricsTests", dependencies: ["HoldfastMetrics", metrics]),
        .testTarget(
            name: "HoldfastGatewayTests",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "OfflineStore", "CacheRules",
                "HoldfastConfiguration", "HoldfastTracing", "LocalSockets", "HTTPWire", "EventLoops",
                "TLSCertificates", "GatewayRouting", "OriginConnections", "HoldfastGateway", "HoldfastTesting",
                "TestSupport", "CNGHTTP2", "CZlib", "HTTP2Client", crypto, httpTypes, nioCore, nioPosix, nioSSL,
                logging,
            ]
        ),
        .testTarget(
            name: "RunCertificatesTests",
            dependencies: ["RunCertificates", "TestSupport", crypto, swiftASN1, x509]
        ),
        .testTarget(
            name: "HoldfastControlTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastMetrics", "LocalFiles",
                "LocalSockets", "HoldfastControl", "HoldfastTesting", "TestSupport", httpTypes, nioCore, nioHTTP1,
                nioPosix, nioEmbedded, logging, serviceLifecycle, yams,
            ]
        ),
        .testTarget(
            name: "HoldfastTests",
            dependencies: [
                "CZlib", "HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", "HoldfastContent", "Holdfast",
                "HoldfastTesting",
                "TestSupport", "SampleOrigin", asyncHTTPClient, httpTypes, nioCore, nioHTTP1, crypto, logging,
            ]
        ),
        .testTarget(
            name: "HoldfastFleetTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", "Holdfast", "FleetTier", "HoldfastFleet",
                "HoldfastTesting", "TestSupport", "FleetTesting", httpTypes, logging, nioCore,
            ]
        ),
        .testTarget(
            name: "HoldfastTestingTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "OfflineStore", "HTTPClientTransport", "HoldfastGateway",
                "HoldfastTesting", "TestSupport", httpTypes, nioCore, nioPosix, logging,
            ]
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "HTTPCacheExplaining", "OfflineStore", "holdfast-cli", "cache-dump", "sample-origin", "key-probe",
                "moments-service", "HoldfastTesting", "SampleOrigin", "TestSupport", "FaultWorkload",
            ]
        ),
        .testTarget(
            name: "SampleOriginTests",
            dependencies: ["SampleOrigin", "CZlib", crypto, httpTypes, nioCore, nioPosix]
        ),
        .testTarget(
            name: "ExamplesTests",
            dependencies: [
                "Holdfast", "MomentsExample", "moments-service", "HoldfastTesting", "TestSupport", "SampleOrigin",
                hummingbird, hummingbirdTesting, nioCore, logging,
            ]
        ),

        // Tests of several modules together.
        .testTarget(
            name: "ConformanceTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPWire", "EventLoops", "HoldfastGateway", "HoldfastTesting",
                "HTTP2Client", httpTypes, nioCore, nioPosix, logging,
            ]
        ),
        .testTarget(
            name: "HTTP2ConformanceTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HoldfastGateway", "HoldfastTesting", "HTTP2Cases", httpTypes,
                nioCore, nioPosix, logging,
            ]
        ),
        // Every decision by failures, under one property.
        .testTarget(
            name: "FailureTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "FleetTier", "OfflineStore", "RedisTier", "OriginConnections",
                "HoldfastGateway", "HoldfastTesting",
            ]
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastTesting", httpTypes, nioCore,
                logging,
            ]
        ),
        .testTarget(
            name: "SharingSimulationTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "FleetTier", "OfflineStore", "HoldfastTesting", "TestSupport",
                "FleetTesting", httpTypes, nioCore, logging,
            ]
        ),
        .testTarget(
            name: "FaultTests",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "OfflineStore", "Holdfast", "HoldfastTesting", "TestSupport",
                "FaultWorkload", "store-worker", "SampleOrigin", httpTypes, nioCore, logging,
            ]
        ),
        // 'Targets' is a link to the fuzzers' target functions. Two of its files belong to the
        // fuzzers' process.
        .testTarget(
            name: "FuzzReplayTests",
            dependencies: [
                "CNGHTTP2", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "FleetTier", "StoreFiles",
                "CacheRules", "HoldfastConfiguration", "RedisTier", "HTTPWire", "GatewayRouting", "OriginConnections",
                "HoldfastGateway", httpTypes, nioCore, nioHPACK,
            ],
            exclude: ["Targets/main.swift", "Targets/Require.swift"]
        ),
        .testTarget(name: "SoakTests", dependencies: ["soak"]),
    ]
)

// 'FaultShim' is in C.
for target in package.targets where target.type != .system && target.name != "FaultShim" {
    target.swiftSettings = settings
}
