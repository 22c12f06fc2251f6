// swift-tools-version: 6.2
import PackageDescription

// The fuzzers. They are a package of their own, because '-sanitize=fuzzer' instruments everything
// that is built with it, and because they need fewer dependencies. The sources under test are
// linked into it. 'scripts/fuzz' builds and runs it. The main package builds the same target
// functions into 'FuzzReplayTests', which replay recorded inputs.

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
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let instrumentation: Target.Dependency = .product(name: "Instrumentation", package: "swift-distributed-tracing")
let nioHPACK: Target.Dependency = .product(name: "NIOHPACK", package: "swift-nio-http2")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        // Only to compare with.
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    ],
    targets: [
        // Links to the sources of the main package.
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "LibC", swiftSettings: settings),
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields], swiftSettings: settings),
        .target(
            name: "HTTPCache",
            dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore, crypto, logging, metrics, tracing],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPCacheOperations",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore, crypto, logging],
            swiftSettings: settings
        ),
        .target(
            name: "CacheRules",
            dependencies: ["LocalFiles", "HTTPCacheSemantics", "HTTPCache", httpTypes],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastConfiguration",
            dependencies: [
                "LibC", "LocalFiles", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "CacheRules", httpTypes,
                yams,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPWire",
            dependencies: ["LibC", "HTTPCacheSemantics", httpTypes, nioCore],
            swiftSettings: settings
        ),
        .target(
            name: "EventLoops",
            dependencies: ["LibC", "HTTPCache", nioCore, nioPosix, nioSSL],
            swiftSettings: settings
        ),
        .target(
            name: "TLSCertificates",
            dependencies: [
                "LibC", "LocalFiles", "HoldfastConfiguration", crypto, cryptoExtras, nioCore, nioPosix, nioSSL,
                logging,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "GatewayRouting",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "HoldfastConfiguration", "HTTPWire",
                httpTypes, nioCore,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "OriginConnections",
            dependencies: [
                "LibC", "HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", "HoldfastTracing",
                "HoldfastMetrics", "HTTPWire", "EventLoops", "TLSCertificates", "GatewayRouting", httpTypes,
                instrumentation, nioCore, nioPosix, nioSSL, nioTLS, logging, serviceLifecycle, tracing,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastGateway",
            dependencies: [
                "LibC", "CNGHTTP2", "CZlib", "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations",
                "HoldfastConfiguration", "HoldfastTracing", "HoldfastMetrics", "LocalSockets", "HTTPWire",
                "EventLoops", "TLSCertificates", "GatewayRouting", "OriginConnections", crypto, httpTypes,
                instrumentation, nioCore, nioPosix, nioSSL, nioTLS, logging, serviceLifecycle, tracing,
            ],
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
        .target(name: "HoldfastMetrics", dependencies: ["LibC", coreMetrics], swiftSettings: settings),
        .target(name: "LocalSockets", dependencies: ["LibC"], swiftSettings: settings),
        .target(name: "LocalFiles", dependencies: ["LibC"], swiftSettings: settings),
        .target(
            name: "FleetTier",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", crypto, httpTypes, logging, nioCore,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "RedisTier",
            dependencies: ["LibC", "LocalFiles", "FleetTier", "HTTPCache", nioCore, nioPosix, nioSSL, crypto],
            swiftSettings: settings
        ),
        .target(
            name: "StoreFiles",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", httpTypes],
            swiftSettings: settings
        ),

        .target(name: "CFuzzDriver"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "HTTPCacheSemantics", "HTTPCache", "HTTPCacheOperations", "CacheRules", "HoldfastConfiguration",
                "HTTPWire", "GatewayRouting", "OriginConnections", "HoldfastGateway", "StoreFiles", "RedisTier",
                "FleetTier", "CFuzzDriver", "CNGHTTP2", httpTypes, nioCore, nioHPACK,
            ],
            swiftSettings: settings
        ),
    ]
)
