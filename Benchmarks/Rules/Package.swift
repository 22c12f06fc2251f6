// swift-tools-version: 6.2
import PackageDescription

// The benchmark of rules: a package of its own, because it needs a YAML parser and the benchmarks of the semantics do not. Of the engine only those files are linked in that rules name, so
// that measuring them builds neither a network nor cryptography. 'scripts/benchmark-rules' builds and runs it.

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
let yams: Target.Dependency = .product(name: "Yams", package: "Yams")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let package = Package(
    name: "rule-benchmark",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
    ],
    targets: [
        // Links to the sources of the main package.
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields], swiftSettings: settings),
        .target(
            name: "HTTPCache",
            dependencies: ["HTTPCacheSemantics", httpTypes, nioCore],
            sources: [
                "Rules", "EngineOptions.swift", "Exchange/OfflineMode.swift", "Fill/GoodDataGuard.swift",
                "Protocols/DerivedValues.swift", "Protocols/ResidentContent.swift", "Protocols/StoredResponse.swift",
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HoldfastConfiguration",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", httpTypes, yams],
            swiftSettings: settings
        ),

        .executableTarget(
            name: "rule-benchmark",
            dependencies: ["HTTPCacheSemantics", "HTTPCache", "HoldfastConfiguration", httpTypes],
            swiftSettings: settings
        ),
    ]
)
