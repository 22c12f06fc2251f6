package import HTTPCacheSemantics

/// The shapes of values that several settings share.
extension Readers {
    package static let modeShape = Shape.word(modes.map(\.0))
    package static let budgetShape = Shape.either([.word(["unlimited"]), .duration])
    package static let timeoutShape = Shape.orOff(.duration)
    package static let eagerRefreshShape = Shape.orOff(.share)

    package static let goodDataGuardShape = Shape.either([
        .flag,
        .mapping([
            .init("empty", .flag, describedBy: "guard.empty"),
            .init("other-media-type", .flag, describedBy: "guard.other-media-type"),
            .init("html", .flag, describedBy: "guard.html"),
            .init("smallest-json-share", .share, describedBy: "guard.smallest-json-share"),
        ]),
    ])

    package static let principalShape = Shape.either([
        .mapping([.init("field", .text, isRequired: true)]), .mapping([.init("cookie", .text, isRequired: true)]),
    ])

    static let eventStreamsShape = Shape.mapping([
        .init("largest", .size), .init("ends-with", .text, isRequired: true),
    ])

    package static let cookiesShape = Shape.mapping([
        .init("keep", .either([.text, .anyNumber(.text)]), isRequired: true), .init("forward", .word(["all"])),
    ])

    package static let listedValuesShape = Shape.mapping([
        .init("cookies", .table(.list(.text))), .init("fields", .table(.list(.text))),
    ])

    package static let rewritingShape = Shape.either([
        .flag,
        .mapping([
            .init("location", .flag, describedBy: "route.rewrite.location"),
            .init("bodies", .list(.text), describedBy: "route.rewrite.bodies"),
        ]),
    ])

    package static func directivesShape(_ known: [(String, PolicyOverrides.Directives)]) -> Shape {
        .list(.word(known.map(\.0)))
    }
}
