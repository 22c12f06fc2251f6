// swift-tools-version: 6.2
import PackageDescription

// Generates traces of requests, and replays them into the eviction policy. It is a package of its
// own, without dependencies, so that it builds in seconds. 'scripts/traces' builds and runs it.

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "traces",
    platforms: [.macOS(.v15)],
    targets: [
        // Links to the sources of the main package.
        .target(name: "LibC", swiftSettings: settings),
        .target(name: "CacheEviction", swiftSettings: settings),
        .executableTarget(name: "traces", dependencies: ["LibC", "CacheEviction"], swiftSettings: settings),
    ]
)
