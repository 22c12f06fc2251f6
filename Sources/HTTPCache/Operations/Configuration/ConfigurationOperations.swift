public import HTTPCacheSemantics
public import HTTPTypes

/// The operations on the configuration of a running cache. The program that composed the cache
/// implements them.
public protocol ConfigurationOperations: Sendable {
    /// Every setting in force with the line that sets it, for people and programs. It holds no
    /// secrets.
    var configuration: any Encodable & Sendable { get }

    /// Where the configuration comes from, and the result of the last reload.
    var configurationStatus: ConfigurationStatus { get }

    /// The origins that requests can be routed to: `https://a.example`.
    var routedOrigins: [String] { get }

    /// The servers of those origins of which the configuration says more than the URL.
    var originServers: [String: [OriginCondition.Server]] { get }

    /// The routes that have a mode of their own, in their order.
    var routeModes: [RouteMode] { get }

    /// The rules in force, and how often they were applied.
    var ruleUses: [RuleUse] { get }

    /// Reads the configuration file again and puts it into force, as a whole or not at all.
    ///
    /// - Parameter client: who asked for it, for the log.
    func reload(by client: String) async -> ReloadReport

    /// Explains how a GET would be served now, and why, for people and programs. It sends and
    /// changes nothing, and holds no secrets.
    ///
    /// - Parameters:
    ///   - url: a client's URL, or an origin's.
    ///   - fields: those of the request.
    /// - Throws: the engine's error if the URL cannot be requested.
    func explain(_ url: TargetURI, _ fields: HTTPFields) async throws -> any Encodable & Sendable
}

extension ConfigurationOperations {
    /// None.
    public var ruleUses: [RuleUse] { [] }

    /// None.
    public var originServers: [String: [OriginCondition.Server]] { [:] }
}

/// A route's own mode. The cache's mode bounds it.
public struct RouteMode: Sendable, Hashable {
    /// The route's name, or its number from 1.
    public var route: String
    /// The mode of the configuration.
    public var mode: OfflineMode

    /// A route's mode.
    public init(route: String, mode: OfflineMode) {
        self.route = route
        self.mode = mode
    }
}

/// Where a configuration comes from.
public struct ConfigurationStatus: Sendable, Hashable {
    /// The file's path; `nil` if there is none.
    public var file: String?
    /// When the configuration in force was read.
    public var loadedAt: Timestamp
    /// The last reload; `nil` if there was none.
    public var lastReload: ReloadReport?
    /// The number of reloads with each outcome.
    public var reloads: [ReloadReport.Outcome: Int] = [:]
    /// Sentences about settings in force that take protection away.
    public var warnings: [String] = []

    /// A status.
    public init(file: String?, loadedAt: Timestamp, lastReload: ReloadReport? = nil) {
        self.file = file
        self.loadedAt = loadedAt
        self.lastReload = lastReload
    }
}

/// The result of a reload.
public struct ReloadReport: Sendable, Hashable {
    /// The result in one word.
    public enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// The file is in force.
        case reloaded
        /// The file has errors. Nothing has changed.
        case rejected
        /// There is no file. Nothing has changed.
        case noFile = "no-file"
    }

    /// A fault of the file.
    public struct Finding: Sendable, Hashable, Codable {
        /// The file.
        public var file: String?
        /// The line, from 1.
        public var line: Int?
        /// The setting: `store.budget`.
        public var setting: String?
        /// The fault, with its place in front.
        public var message: String

        /// A finding.
        public init(file: String? = nil, line: Int? = nil, setting: String? = nil, message: String) {
            self.file = file
            self.line = line
            self.setting = setting
            self.message = message
        }
    }

    /// A setting that differs from the one before.
    public struct Change: Sendable, Hashable, Codable {
        /// The setting: `mode`, `route 'api'`.
        public var setting: String
        /// The value before, and in force still if the setting is kept; `nil` if it was not set.
        public var from: String?
        /// The value of the file; `nil` if it does not set it.
        public var to: String?

        /// A change.
        public init(setting: String, from: String?, to: String?) {
            self.setting = setting
            self.from = from
            self.to = to
        }
    }

    /// The result.
    public var outcome: Outcome
    /// When it ended.
    public var at: Timestamp
    /// Who asked for it.
    public var client: String
    /// The faults, if it was rejected.
    public var findings: [Finding] = []
    /// The settings, routes and rules that have changed.
    public var changed: [Change] = []
    /// The settings that change only with a restart.
    public var kept: [Change] = []

    /// A result without details.
    public init(_ outcome: Outcome, at instant: Timestamp, by client: String) {
        self.outcome = outcome
        at = instant
        self.client = client
    }
}
