// swift-tools-version: 6.2
import PackageDescription

// Files that import Holdfast and another package, and use names that both may have without saying
// whose they are. A name that both have does not compile.
//
// GRDBAndHoldfast is also a program: a service that uses GRDB for its own database. Both packages
// have a module for the same 'sqlite3.h', and both use the same SQLite of the process.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

let holdfast: Target.Dependency = .product(name: "Holdfast", package: "holdfast")

let package = Package(
    name: "collisions",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(name: "holdfast", path: "../..", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "GRDBAndHoldfast",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                holdfast,
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HummingbirdAndHoldfast",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                holdfast,
            ],
            swiftSettings: settings
        ),
    ]
)
