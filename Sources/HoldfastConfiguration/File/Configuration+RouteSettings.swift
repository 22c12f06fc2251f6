import CacheRules

extension Configuration.Route {
    /// The settings of a route with an origin.
    static let settings: [PartSetting<Self>] =
        PartSetting.naming(\.name, \.host, \.path) + [
            PartSetting("origin", .text, isRequired: true) { (value, route) throws(Refusal) in
                if case .list(_, let line) = value {
                    throw Refusal(
                        "Expected one URL, not a list. Write other servers of this origin in 'addresses' or 'mirrors' of 'origins'.",
                        line: line
                    )
                }
                route.origin = try value.text("a URL such as 'https://api.example.com'")
            },
            PartSetting("preserve-host", .flag) { (value, route) throws(Refusal) in
                route.preservesHost = try value.flag()
            },
            PartSetting("mode", Readers.modeShape) { (value, route) throws(Refusal) in
                route.mode = try Readers.mode(value)
            },
            PartSetting("unknown-fields", .words(of: Configuration.FieldHandling.self)) {
                (value, route) throws(Refusal) in
                route.unknownFields = try value.word(Configuration.FieldHandling.allCases.map { ($0.rawValue, $0) })
            },
            PartSetting("tags-from", .list(.text)) { (value, route) throws(Refusal) in
                route.tagsFrom = try Readers.tagFields(value)
            },
            PartSetting("upgrades", .list(.text)) { (value, route) throws(Refusal) in
                route.upgrades = try Readers.upgrades(value)
            },
            PartSetting("rewrite", Readers.rewritingShape) { (value, route) throws(Refusal) in
                route.rewriting = try Readers.rewriting(value)
            },
            PartSetting("compress", .flag) { (value, route) throws(Refusal) in route.compresses = try value.flag() },
            PartSetting("error-pages", Readers.errorPagesShape) { (value, route) throws(Refusal) in
                route.errorPages = try Readers.errorPages(value)
            },
            PartSetting("clients", Readers.clientListsShape) { (value, route) throws(Refusal) in
                route.clients = try Readers.clientLists(value)
            },
            PartSetting("limits", Readers.routeLimitsShape) { (value, route) throws(Refusal) in
                route.requestRate = try Readers.routeLimits(value)
            },
        ]
}

extension Configuration.FixedRoute {
    /// The settings of a route that the gateway answers itself.
    static let settings: [PartSetting<Self>] =
        PartSetting.naming(\.name, \.host, \.path) + [
            PartSetting("match", Readers.fixedRouteMatchShape) { (value, route) throws(Refusal) in
                try Readers.match(value, &route)
            },
            PartSetting("respond", Readers.fixedAnswerShape, isRequired: true) { (value, route) throws(Refusal) in
                route.answer = try Readers.fixedAnswer(value)
            },
        ]
}

extension PartSetting {
    /// The settings that both kinds of routes have.
    fileprivate static func naming(
        _ name: any WritableKeyPath<Part, String?> & Sendable,
        _ host: any WritableKeyPath<Part, String?> & Sendable,
        _ path: any WritableKeyPath<Part, String> & Sendable
    ) -> [PartSetting] {
        [
            PartSetting("name", .text) { (value, route) throws(Refusal) in
                route[keyPath: name] = try value.text("a name")
            },
            PartSetting("host", .text) { (value, route) throws(Refusal) in
                if case .list(_, let line) = value {
                    throw Refusal("Expected one host, not a list. Write a route for each host.", line: line)
                }
                route[keyPath: host] = try value.text("a host")
            },
            PartSetting("path", .text) { (value, route) throws(Refusal) in
                route[keyPath: path] = try value.text("a path such as '/v1'")
            },
        ]
    }
}
