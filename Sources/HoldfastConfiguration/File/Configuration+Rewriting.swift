import CacheRules

extension Configuration {
    /// `rewrite` of a route: how a gateway replaces origin URLs in responses with the URLs that its
    /// clients request. Stored responses stay as the origin sent them.
    public struct Rewriting: Sendable, Hashable {
        /// `location`: whether references in fields are replaced: `Location`, `Content-Location`,
        /// `Link`, `Refresh`, the domain and path of cookies, and the token server of a `Bearer`
        /// challenge. Default: `true`
        public var location = true
        /// `bodies`: the media types of content in which URLs are replaced, in lower case and
        /// without parameters; at most 32. Default: none
        public var bodies: [String] = []

        /// The maximum number of media types per route: 32.
        package static let bodiesLimit = 32

        /// Settings that disable rewriting.
        public static let none = Rewriting(location: false)

        /// Creates settings with the defaults, except for the given values.
        public init(location: Bool = true, bodies: [String] = []) {
            self.location = location
            self.bodies = bodies
        }
    }
}

extension Readers {
    /// Reads `rewrite` of a route.
    static func rewriting(_ value: FileValue) throws(Refusal) -> Configuration.Rewriting {
        var result = Configuration.Rewriting()
        if case .text = value {
            guard let isOn = try? value.flag() else {
                throw Refusal(
                    "Expected false, or settings ('location', 'bodies'), not \(value.shown).",
                    line: value.line
                )
            }
            return isOn ? result : .none
        }
        for entry in try value.entries("false, or settings ('location', 'bodies')") {
            switch entry.key {
            case "location": result.location = try entry.flag()
            case "bodies": result.bodies = try mediaTypes(entry.value)
            default: throw unknown(entry, of: ["location", "bodies"])
            }
        }
        return result
    }

    /// Reads media types without parameters, and removes duplicates.
    private static func mediaTypes(_ value: FileValue) throws(Refusal) -> [String] {
        var result: [String] = []
        for item in try value.list(of: "media types such as 'text/html'") {
            let type = try item.text("a media type such as 'text/html'").lowercased()
            guard MediaTypes.isRange(type), !type.contains("*") else {
                throw Refusal(
                    "\(item.shown) is not a media type such as 'text/html'. Stars and parameters are not allowed.",
                    line: item.line
                )
            }
            if !result.contains(type) { result.append(type) }
        }
        guard result.count <= Configuration.Rewriting.bodiesLimit else {
            throw Refusal(
                "There are \(result.count) media types. The limit is \(Configuration.Rewriting.bodiesLimit). Remove some.",
                line: value.line
            )
        }
        return result
    }
}
