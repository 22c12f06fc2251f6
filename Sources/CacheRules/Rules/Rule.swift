public import HTTPCache
public import HTTPTypes

/// Settings for some requests and their responses.
///
/// If several rules match, the first rule that has a setting decides that setting. Each setting is
/// decided separately, so put specific rules before general rules.
///
/// ```swift
/// let rules = try RuleSet([
///     Rule("catalogue", matching: .init(urls: ["https://api.example.com/catalogue/**"])) {
///         $0.freshness.lifetime = .minutes(5)
///     }
/// ])
/// ```
public struct Rule: Sendable, Hashable {
    /// The conditions of a rule. It applies to requests and responses that meet all of them. A rule
    /// without conditions applies to everything.
    public struct Match: Sendable, Hashable {
        /// Patterns for the target URI at the origin; at least one must match. See ``URLPattern``.
        /// An empty list matches any target.
        public var urls: [URLPattern]
        /// Methods; the request must have one of them. GET also matches HEAD, which has the same
        /// key. An empty list matches any method.
        public var methods: [HTTPRequest.Method]
        /// Media types of the response, such as `image/png` or `image/*`; at least one must match.
        /// An empty list matches any type.
        ///
        /// A rule with this condition can only have settings that take effect after the response
        /// arrives.
        public var contentTypes: [String]
        /// Cookies, fields and query parameters of the request.
        ///
        /// A rule with such a condition only restricts: it can have `bypass` and `mode`. It applies
        /// after all rules without one, whatever their order.
        public var request: RequestRestriction.Conditions

        /// Creates conditions. Without arguments, they match everything.
        public init(
            urls: [URLPattern] = [],
            methods: [HTTPRequest.Method] = [],
            contentTypes: [String] = [],
            request: RequestRestriction.Conditions = .init()
        ) {
            self.urls = urls
            self.methods = methods
            self.contentTypes = contentTypes
            self.request = request
        }
    }

    /// The location of a rule in a file, for messages and decisions. It does not affect what the
    /// rule does.
    public struct Location: Sendable, Hashable {
        /// The file's path.
        public var file: String?
        /// The line on which the rule begins.
        public var line: Int
        /// The lines of the rule's settings, by their names in the file (`freshness.lifetime`), and
        /// of the conditions, such as `match.url`.
        public var settings: [String: Int]
        /// The settings and conditions with references to variables, as written in the file.
        package var written: [String: String] = [:]

        /// Creates a location.
        public init(file: String? = nil, line: Int, settings: [String: Int] = [:]) {
            self.file = file
            self.line = line
            self.settings = settings
        }
    }

    /// The rule's name in messages; `nil` if it is identified by its number.
    public var name: String?
    /// The conditions of the rule. See ``Match-swift.struct``.
    public var match: Match
    /// The settings of the rule.
    public var settings: RuleSettings
    /// The rule's location in its file; `nil` for a rule created in Swift.
    public var location: Location?

    /// Creates a rule.
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

    /// Creates a rule with the settings that `set` assigns.
    public init(
        _ name: String? = nil,
        matching match: Match = Match(),
        _ set: (inout RuleSettings) throws -> Void
    ) rethrows {
        self.init(name, matching: match, settings: try RuleSettings(set))
    }
}
