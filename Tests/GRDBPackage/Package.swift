// swift-tools-version: 6.2
import PackageDescription

// A service that uses GRDB for its own database and Holdfast next to it. Both have a module for the
// same 'sqlite3.h', and both use the same SQLite of the process.
let package = Package(
    name: "grdb-and-holdfast",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(name: "holdfast", path: "../..", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "GRDBAndHoldfast",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Holdfast", package: "holdfast"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("MemberImportVisibility"),
                .treatAllWarnings(as: .error),
            ]
        )
    ]
)
