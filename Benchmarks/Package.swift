// swift-tools-version: 6.2
import PackageDescription

// The benchmarks. They are a package of their own, so that users of Holdfast do not build their
// dependencies. The measured sources are linked into it, so that measuring the semantics builds
// neither a network nor a database. 'scripts/benchmark' builds and runs it.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let structuredFields: Target.Dependency = .product(
    name: "RawStructuredFieldValues",
    package: "swift-http-structured-headers"
)

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        // Without its traits: they add interposers for allocation and reference counts.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.0", traits: []),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
    ],
    targets: [
        // A link to the sources of the main package.
        .target(name: "HTTPCacheSemantics", dependencies: [httpTypes, structuredFields], swiftSettings: settings),
        .target(name: "Cases", dependencies: ["HTTPCacheSemantics", httpTypes], swiftSettings: settings),
        .executableTarget(name: "count", dependencies: ["Cases"], swiftSettings: settings),
        .executableTarget(
            name: "Semantics",
            dependencies: ["Cases", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/Semantics",
            swiftSettings: settings,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
    ]
)
