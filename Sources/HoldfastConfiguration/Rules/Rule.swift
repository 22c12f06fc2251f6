public import HTTPTypes

/// What holds for some requests and the responses to them.
///
/// Of several rules that match, the first that has a setting decides it: each setting on its own.
/// So special rules stand before general ones.
///
/// ```swift
/// let rules = try RuleSet([
///     Rule("catalogue", matching: .init(urls: ["https://api.example.com/catalogue/**"])) {
///         $0.freshness.lifetime = .minutes(5)
///     }
/// ])
/// ```
public struct Rule: Sendable, Hashable {
    /// Which requests and responses a rule is about: all conditions hold. Without any it is about
    /// all.
    public struct Match: Sendable, Hashable {
        /// Patterns for the target URI (the origin's), of which one matches; see ``URLPattern``.
        /// Empty: any.
        public var urls: [URLPattern]
        /// Methods, of which one is the request's; GET stands for HEAD as well, which has the same
        /// key. Empty: any.
        public var methods: [HTTPRequest.Method]
        /// Media types of the response, of which one matches: `image/png`, `image/*`. Empty: any.
        ///
        /// A rule with this condition can only have settings that count once a response is known.
        public var contentTypes: [String]

        /// A condition; without arguments one that always holds.
        public init(urls: [URLPattern] = [], methods: [HTTPRequest.Method] = [], contentTypes: [String] = []) {
            self.urls = urls
            self.methods = methods
            self.contentTypes = contentTypes
        }
    }

    /// Where a rule stands in a file, for messages and decisions. It makes no difference to what
    /// the rule says.
    public struct Location: Sendable, Hashable {
        /// The file.
        public var file: String?
        /// The line on which the rule begins.
        public var line: Int
        /// The lines of its settings, by their names as they are written: `freshness.lifetime`; and
        /// of `match.url`, `match.method` and `match.content-type`.
        public var settings: [String: Int]

        /// A location.
        public init(file: String? = nil, line: Int, settings: [String: Int] = [:]) {
            self.file = file
            self.line = line
            self.settings = settings
        }
    }

    /// What messages call it; `nil` where it is called by its number.
    public var name: String?
    /// See ``Match-swift.struct``.
    public var match: Match
    /// What it says.
    public var settings: RuleSettings
    /// Where it stands; `nil` for one that was made of Swift values.
    public var location: Location?

    /// A rule.
    public init(
        _ name: String? = nil,
        matching match: Match = Match(),
        settings: RuleSettings,
        location: Location? = nil
    ) {
        self.name = name
        self.match = match
        self.settings = settings
        self.location = location
    }

    /// A rule that says what `set` sets.
    public init(
        _ name: String? = nil,
        matching match: Match = Match(),
        _ set: (inout RuleSettings) throws -> Void
    ) rethrows {
        self.init(name, matching: match, settings: try RuleSettings(set))
    }
}
