// swift-tools-version: 6.2
import PackageDescription

// A service that depends on Holdfast as any other package would. README shows its main file and its
// dependency.
let package = Package(
    name: "consumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "holdfast", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "Consumer",
            dependencies: [.product(name: "Holdfast", package: "holdfast")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("MemberImportVisibility"),
                .treatAllWarnings(as: .error),
            ]
        )
    ]
)
