package import HTTPCache
package import HTTPCacheSemantics
package import HTTPTypes

/// The operations on the configuration of a running cache. The program that composed the cache
/// implements them.
package protocol ConfigurationOperations: OriginURLFinding {
    /// Every setting in force with the line that sets it, for people and programs. It contains no
    /// secrets.
    var configuration: any Encodable & Sendable { get }

    /// The source of the configuration, and the result of the last reload.
    var configurationStatus: ConfigurationStatus { get }

    /// The origins that routes lead to, such as `https://a.example`.
    var routedOrigins: [String] { get }

    /// The servers of these origins, if the configuration specifies more than the origin's URL.
    var originServers: [String: [OriginCondition.Server]] { get }

    /// The names of the routes that have a name, in order.
    var routeNames: [String] { get }

    /// The routes that have their own mode, in order.
    var routeModes: [RouteMode] { get }

    /// The rules in force, and the number of times each was applied.
    var ruleUses: [RuleUse] { get }

    /// Reads the configuration file again and applies it, either completely or not at all.
    ///
    /// - Parameter client: the client that requested the reload, for the log.
    func reload(by client: String) async -> ReloadReport

    /// Explains how a GET would be served now and why, for people and programs. The explanation
    /// sends no request and makes no change. It contains no secrets.
    ///
    /// - Parameters:
    ///   - url: a client's URL or an origin's URL.
    ///   - fields: the request's fields.
    ///   - client: the IP address of the client that requests the URL, or `unix`; `nil` if it is
    ///     not known.
    /// - Throws: the engine's error if the URL cannot be requested.
    func explain(
        _ url: TargetURI,
        _ fields: HTTPFields,
        for client: String?
    ) async throws -> any Encodable & Sendable
}

extension ConfigurationOperations {
    /// No rules.
    package var ruleUses: [RuleUse] { [] }

    /// No routes.
    package func originURLs(of url: TargetURI) -> [OriginURL] { [] }

    /// No routes.
    package func originPrefixes(of prefix: TargetURI) -> [OriginURL] { [] }

    /// No servers.
    package var originServers: [String: [OriginCondition.Server]] { [:] }
}

/// The mode of a single route. It can only restrict the use of the network further than the cache's
/// mode.
package struct RouteMode: Sendable, Hashable {
    /// The route's name, or its number starting at 1.
    package var route: String
    /// The configured mode.
    package var mode: OfflineMode

    /// Creates a route's mode.
    package init(route: String, mode: OfflineMode) {
        self.route = route
        self.mode = mode
    }
}

/// The source and state of a configuration.
package struct ConfigurationStatus: Sendable, Hashable {
    /// The file's path; `nil` if there is no file.
    package var file: String?
    /// When the configuration in force was read.
    package var loadedAt: Timestamp
    /// The last reload; `nil` if there has been none.
    package var lastReload: ReloadReport?
    /// The number of reloads with each outcome.
    package var reloads: [ReloadReport.Outcome: Int] = [:]
    /// Warnings about settings in force that disable a protection.
    package var warnings: [String] = []
    /// Why files that the configuration names cannot be used now, a sentence each. Their previous
    /// content stays in use.
    package var rejectedFiles: [String] = []

    /// Creates a status.
    package init(file: String?, loadedAt: Timestamp, lastReload: ReloadReport? = nil) {
        self.file = file
        self.loadedAt = loadedAt
        self.lastReload = lastReload
    }
}

/// The result of a reload.
package struct ReloadReport: Sendable, Hashable {
    /// The outcome of a reload.
    package enum Outcome: String, Sendable, Hashable, Codable, CaseIterable {
        /// The file is in force.
        case reloaded
        /// The file has errors. Nothing has changed.
        case rejected
        /// There is no file. Nothing has changed.
        case noFile = "no-file"
    }

    /// An error in the file.
    package struct Finding: Sendable, Hashable, Codable {
        /// The file's path.
        package var file: String?
        /// The line number, starting at 1.
        package var line: Int?
        /// The setting, such as `store.budget`.
        package var setting: String?
        /// The error message, which starts with the location.
        package var message: String

        /// Creates a finding.
        package init(file: String? = nil, line: Int? = nil, setting: String? = nil, message: String) {
            self.file = file
            self.line = line
            self.setting = setting
            self.message = message
        }
    }

    /// A changed setting.
    package struct Change: Sendable, Hashable, Codable {
        /// The setting, such as `mode` or `route 'api'`.
        package var setting: String
        /// The previous value, which is still in force if the setting is kept; `nil` if it was not
        /// set.
        package var from: String?
        /// The value in the file; `nil` if the file does not set it.
        package var to: String?

        /// Creates a change.
        package init(setting: String, from: String?, to: String?) {
            self.setting = setting
            self.from = from
            self.to = to
        }
    }

    /// The outcome.
    package var outcome: Outcome
    /// When the reload ended.
    package var at: Timestamp
    /// The client that requested the reload.
    package var client: String
    /// The errors, if the file was rejected.
    package var findings: [Finding] = []
    /// The settings, routes and rules that changed.
    package var changed: [Change] = []
    /// The settings that change only after a restart.
    package var kept: [Change] = []
    /// The paths of the other files that the configuration names whose content changed since the
    /// last reload: pages, certificates, keys, tokens, passwords and values of fields.
    package var changedFiles: [String] = []
    /// Why files that the configuration names cannot be used, a sentence each; see
    /// ``ConfigurationStatus/rejectedFiles``.
    package var rejectedFiles: [String] = []
    /// A sentence for each mode of an origin or route, and each drain, that has no effect, because
    /// the configuration no longer has what it names.
    package var ineffectiveSwitches: [String] = []

    /// Creates a report without details.
    package init(_ outcome: Outcome, at instant: Timestamp, by client: String) {
        self.outcome = outcome
        at = instant
        self.client = client
    }
}
