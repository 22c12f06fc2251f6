public import HTTPTypes

/// Settings for some requests and the responses to them.
///
/// Of several rules that match, the first one that has a setting decides it; each setting is
/// decided by itself. So special rules stand before general ones.
///
/// ```swift
/// let rules = try RuleSet([
///     Rule("catalogue", matching: .init(urls: ["https://api.example.com/catalogue/**"])) {
///         $0.freshness.lifetime = .minutes(5)
///     }
/// ])
/// ```
public struct Rule: Sendable, Hashable {
    /// The requests and responses that a rule applies to: those that meet all its conditions. A
    /// rule without conditions applies to all.
    public struct Match: Sendable, Hashable {
        /// Patterns for the target URI at the origin, of which one must match; see ``URLPattern``.
        /// Empty: any target.
        public var urls: [URLPattern]
        /// Methods, of which one must be the request's. GET stands for HEAD as well, which has the
        /// same key. Empty: any method.
        public var methods: [HTTPRequest.Method]
        /// Media types of the response, of which one must match: `image/png`, `image/*`. Empty:
        /// any.
        ///
        /// A rule with this condition can only have settings that take effect once there is a
        /// response.
        public var contentTypes: [String]

        /// A match; without arguments it matches everything.
        public init(urls: [URLPattern] = [], methods: [HTTPRequest.Method] = [], contentTypes: [String] = []) {
            self.urls = urls
            self.methods = methods
            self.contentTypes = contentTypes
        }
    }

    /// The place of a rule in a file, for messages and decisions. It does not change what the rule
    /// does.
    public struct Location: Sendable, Hashable {
        /// The file's path.
        public var file: String?
        /// The line on which the rule begins.
        public var line: Int
        /// The lines of its settings by their names in the file (`freshness.lifetime`), and those
        /// of `match.url`, `match.method` and `match.content-type`.
        public var settings: [String: Int]

        /// A location.
        public init(file: String? = nil, line: Int, settings: [String: Int] = [:]) {
            self.file = file
            self.line = line
            self.settings = settings
        }
    }

    /// The rule's name in messages; `nil` if it is known by its number.
    public var name: String?
    /// The conditions of the rule. See ``Match-swift.struct``.
    public var match: Match
    /// The settings of the rule.
    public var settings: RuleSettings
    /// The rule's place in its file; `nil` for a rule made in Swift.
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

    /// A rule with the settings that `set` assigns.
    public init(
        _ name: String? = nil,
        matching match: Match = Match(),
        _ set: (inout RuleSettings) throws -> Void
    ) rethrows {
        self.init(name, matching: match, settings: try RuleSettings(set))
    }
}
