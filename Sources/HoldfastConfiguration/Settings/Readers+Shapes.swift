import HTTPCacheSemantics

/// The shapes of values that several settings share.
extension Readers {
    static let modeShape = Shape.word(modes.map(\.0))
    static let budgetShape = Shape.either([.word(["unlimited"]), .duration])
    static let timeoutShape = Shape.orOff(.duration)
    static let eagerRefreshShape = Shape.orOff(.share)

    static let goodDataGuardShape = Shape.either([
        .flag,
        .mapping([
            .init("empty", .flag, describedBy: "guard.empty"),
            .init("other-media-type", .flag, describedBy: "guard.other-media-type"),
            .init("html", .flag, describedBy: "guard.html"),
            .init("smallest-json-share", .share, describedBy: "guard.smallest-json-share"),
        ]),
    ])

    static let principalShape = Shape.either([
        .mapping([.init("field", .text, isRequired: true)]), .mapping([.init("cookie", .text, isRequired: true)]),
    ])

    static let cookiesShape = Shape.mapping([
        .init("keep", .either([.text, .anyNumber(.text)]), isRequired: true), .init("forward", .word(["all"])),
    ])

    static let listedValuesShape = Shape.mapping([
        .init("cookies", .table(.list(.text))), .init("fields", .table(.list(.text))),
    ])

    static let rewritingShape = Shape.either([
        .flag,
        .mapping([
            .init("location", .flag, describedBy: "route.rewrite.location"),
            .init("bodies", .list(.text), describedBy: "route.rewrite.bodies"),
        ]),
    ])

    static func directivesShape(_ known: [(String, PolicyOverrides.Directives)]) -> Shape {
        .list(.word(known.map(\.0)))
    }
}
