// swift-tools-version: 6.2
import PackageDescription

// Recipes that need packages that Holdfast does not depend on. Copy the file that you need.
let package = Package(
    name: "recipes",
    platforms: [.macOS(.v15)],
    traits: [
        .trait(
            name: "OpenAPI",
            description: "The transport for clients of Swift OpenAPI Generator."
        )
    ],
    dependencies: [
        .package(name: "holdfast", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-openapi-runtime", from: "1.8.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
    ],
    targets: [
        .executableTarget(
            name: "Recipes",
            dependencies: [
                .product(name: "Holdfast", package: "holdfast"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(
                    name: "OpenAPIRuntime",
                    package: "swift-openapi-runtime",
                    condition: .when(traits: ["OpenAPI"])
                ),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("MemberImportVisibility"),
                .treatAllWarnings(as: .error),
            ]
        )
    ]
)
