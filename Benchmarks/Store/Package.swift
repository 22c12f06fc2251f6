// swift-tools-version: 6.2
import PackageDescription

// The store's benchmark. It is a package of its own, because it needs a database and the benchmarks
// of the semantics do not. The measured sources are linked into it, so that measuring them builds
// no network. 'scripts/benchmark-store' builds and runs it.

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
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let package = Package(
    name: "store-benchmark",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
    ],
    targets: [
        // Links to the sources of the main package.
        .systemLibrary(name: "CProcess"),
        .systemLibrary(name: "CSQLite"),
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
            name: "HoldfastMigrations",
            sources: ["Migrations.swift"],
            resources: [.embedInCode("sql")],
            swiftSettings: settings
        ),
        .target(name: "CacheEviction", swiftSettings: settings),
        .target(
            name: "StoreFiles",
            dependencies: ["LibC", "HTTPCacheSemantics", "HTTPCache", httpTypes],
            swiftSettings: settings
        ),
        .target(
            name: "StoreMemory",
            dependencies: ["CacheEviction", "HTTPCacheSemantics", "HTTPCache", httpTypes, nioCore],
            swiftSettings: settings
        ),
        .target(
            name: "OfflineStore",
            dependencies: [
                "LibC", "CProcess", "CSQLite", "CacheEviction", "HTTPCacheSemantics", "HTTPCache",
                "HTTPCacheOperations", "HoldfastMigrations", "StoreFiles", "StoreMemory", httpTypes, nioCore, logging,
                metrics,
            ],
            swiftSettings: settings
        ),

        .executableTarget(
            name: "store-benchmark",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "OfflineStore", httpTypes, nioCore, logging],
            swiftSettings: settings
        ),
    ]
)
