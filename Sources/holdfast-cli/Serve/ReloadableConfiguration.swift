import CommandLineSupport
import HTTPCache
import HTTPCacheExplaining
import HTTPCacheOperations
import HTTPTypes
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import Synchronization

/// A gateway's configuration. It reloads the file for signals and for the control plane, one reload
/// at a time.
actor ReloadableConfiguration: ConfigurationOperations {
    /// The settings at startup. Settings that cannot change stay in effect until the process ends.
    private let start: ServeSettings
    private let named: NamedSettings
    private let parts: Parts
    private let clock: any WallClock
    private let logger: Logger
    private nonisolated let current: Mutex<InForce>
    private var digests: FileDigests
    /// The other files, which a reload rereads too.
    nonisolated let files: RereadFiles

    /// The parts of the gateway that are reconfigured.
    struct Parts: Sendable {
        let engine: CacheEngine
        let store: CacheManager
        let modes: ModeSwitch
        let switches: SwitchKeeper
        let transport: OriginTransport
        let server: GatewayServer
        let accessLog: AccessLog
    }

    private struct InForce {
        var effective: EffectiveConfiguration
        var settings: ServeSettings
        var status: ConfigurationStatus
    }

    init(
        _ settings: ServeSettings,
        _ named: NamedSettings,
        _ parts: Parts,
        clock: any WallClock = SystemWallClock(),
        logger: Logger
    ) {
        start = settings
        self.named = named
        self.parts = parts
        self.clock = clock
        self.logger = logger
        files = RereadFiles(Self.sources(parts))
        digests = FileDigests(of: settings.rereadFiles)
        var status = ConfigurationStatus(file: named.file, loadedAt: clock.now())
        status.warnings = settings.file.warnings
        current = Mutex(
            InForce(effective: settings.effective(named, start: settings), settings: settings, status: status)
        )
        Self.log(settings.file.warnings, logger)
    }

    /// The files of the parts that every gateway has.
    private static func sources(_ parts: Parts) -> [RereadFiles.Source] {
        let (server, transport, accessLog) = (parts.server, parts.transport, parts.accessLog)
        return [
            .init(reread: { accessLog.reopen() }, problems: { accessLog.problem.map { [$0] } ?? [] }),
            .init(reread: { server.reloadCertificates() }, problems: { server.rejectedFiles }),
            .init(reread: { transport.reloadCertificates() }, problems: { transport.rejectedFiles }),
        ]
    }

    private static func log(_ warnings: [String], _ logger: Logger) {
        for warning in warnings {
            logger.warning("Setting reduces protection", metadata: ["configuration.warning": "\(warning)"])
        }
    }

    /// The settings in force.
    nonisolated var settings: ServeSettings { current.withLock { $0.settings } }
    nonisolated var configuration: any Encodable & Sendable { current.withLock { $0.effective } }
    nonisolated var configurationStatus: ConfigurationStatus {
        let current = current.withLock { $0 }
        var status = current.status
        status.rejectedFiles = files.problems + current.settings.file.rejectedFiles
        return status
    }
    /// How long the listeners stay open after the first SIGTERM.
    nonisolated var drainDelay: Duration { current.withLock { $0.settings.drainDelay(start: start) } }
    nonisolated var routedOrigins: [String] { current.withLock { $0.settings.origins } }
    nonisolated var originServers: [String: [OriginCondition.Server]] { parts.transport.originServers }
    nonisolated func originURLs(of url: TargetURI) -> [OriginURL] {
        let settings = current.withLock { $0.settings }
        return settings.gateway.routes.originURLs(of: url, by: settings.file.rules)
    }
    nonisolated func originPrefixes(of prefix: TargetURI) -> [OriginURL] {
        current.withLock { $0.settings.gateway.routes }.originPrefixes(of: prefix)
    }
    nonisolated var ruleUses: [RuleUse] {
        let (parts, rules) = current.withLock { ($0.effective.rules, $0.settings.file.rules) }
        return zip(parts, rules.uses).map { part, uses in
            RuleUse(
                name: part.name,
                line: part.line,
                conditions: part.conditions.map(Self.text),
                settings: part.settings.map(Self.text),
                uses: uses
            )
        }
    }

    private static func text(_ setting: EffectiveConfiguration.Setting) -> String {
        "\(setting.name): \(setting.value ?? "unset")"
    }

    nonisolated var routeNames: [String] {
        current.withLock { $0.settings.gateway.routes }.names
    }

    nonisolated var routeModes: [RouteMode] { current.withLock { $0.settings.routeModes } }

    /// Reloads the configuration file, and rereads the other files that it names. An invalid file
    /// is rejected as a whole, and its errors are logged. Another file that cannot be used is
    /// named, and its previous content stays in use.
    func reload(by client: String) -> ReloadReport {
        files.reread()
        guard named.file != nil else {
            logger.notice("No configuration file to reload; nothing changed")
            return finish(ReloadReport(.noFile, at: clock.now(), by: client))
        }
        let known = current.withLock { $0.settings }
        let read: ServeSettings
        let origins: GatewayOrigins
        var references = References()
        do {
            read = try ServeSettings(named, since: known)
            references = read.file.references
            let routes = read.gateway.routes
            origins = try parts.transport.prepare(for: routes, OriginTransport.Configuration(read.file, routes: routes))
        } catch {
            return reject(error, references, by: client)
        }
        var report = ReloadReport(.reloaded, at: clock.now(), by: client)
        report.kept = start.kept(against: read).map {
            ReloadReport.Change(setting: $0.setting, from: $0.kept, to: $0.wanted)
        }
        let effective = read.effective(named, start: start)
        report.changed = effective.changes(since: current.withLock { $0.effective })
        for setting in report.kept {
            logger.warning(
                "Setting needs a restart to change",
                metadata: [
                    "configuration.setting": "\(setting.setting)", "configuration.kept": "\(setting.from ?? "")",
                    "configuration.wanted": "\(setting.to ?? "")",
                ]
            )
        }
        apply(read, origins)
        let rejected = files.problems + read.file.rejectedFiles
        report.changedFiles = digests.reread(read.rereadFiles, problems: rejected)
        log(read.file.rejectedFiles, since: known)
        report.ineffectiveSwitches = parts.switches.switches.withoutSubject(
            origins: read.origins,
            routes: read.gateway.routes.names,
            servers: parts.transport.originServers.mapValues { $0.map(\.name) }
        ).map(\.withoutEffect)
        logReload(report, of: read, rejected)
        Self.log(read.file.warnings, logger)
        current.withLock { current in
            current.effective = effective
            current.settings = read
            current.status.loadedAt = report.at
            current.status.warnings = read.file.warnings
        }
        return finish(report)
    }

    /// Rereads the files of field values, such as credentials for origins, and the pages that could
    /// not be used, and uses new content for the next requests. A file that cannot be used changes
    /// nothing, and is logged once.
    func rereadFiles() {
        let known = current.withLock { $0.settings }
        guard let file = known.file.rereadingFiles(), let new = try? ServeSettings(named, file: file) else { return }
        log(file.rejectedFiles, since: known)
        let hasNewPages = !zip(file.routes, known.file.routes).allSatisfy { $0.errorPages == $1.errorPages }
        let hasNewValues = file.rules !== known.file.rules
        if hasNewValues { parts.engine.reconfigure(options: file.options, rules: new.rules) }
        if hasNewPages { parts.server.reconfigure(new.gateway) }
        current.withLock { $0.settings = new }
        if hasNewValues || hasNewPages { logger.notice("Files of the configuration reloaded") }
    }

    /// Logs the files that cannot be used, except those that are known to be unusable.
    private func log(_ rejected: [String], since known: ServeSettings) {
        for problem in rejected where !known.file.rejectedFiles.contains(problem) {
            logger.error("File rejected; its previous content stays in use", metadata: ["error": "\(problem)"])
        }
    }

    private func apply(_ read: ServeSettings, _ origins: GatewayOrigins) {
        // The order matters: the transport must know an origin before a request is routed to it,
        // and a request on a new route must see the new rules.
        parts.transport.reconfigure(routes: read.gateway.routes, origins: origins)
        parts.switches.reapply()
        parts.engine.reconfigure(options: read.file.options, rules: read.rules)
        parts.modes.configure(read.mode)
        parts.server.reconfigure(read.gateway)
        parts.accessLog.configure(read.accessLog)
    }

    private func logReload(_ report: ReloadReport, of read: ServeSettings, _ rejected: [String]) {
        var metadata: Logger.Metadata = [
            "configuration.file": "\(named.file ?? "")",
            "configuration.routes": "\(named.origin == nil ? read.file.routeCount : 1)",
            "configuration.rules": "\(read.file.rules.rules.count)", "configuration.mode": "\(read.mode)",
            "control.client": "\(report.client)",
        ]
        if !report.changedFiles.isEmpty {
            metadata["configuration.changed_files"] = "\(report.changedFiles.joined(separator: "; "))"
        }
        for sentence in report.ineffectiveSwitches {
            logger.warning("A switch has no effect anymore", metadata: ["switch.problem": "\(sentence)"])
        }
        if rejected.isEmpty { return logger.notice("Configuration reloaded", metadata: metadata) }
        metadata["configuration.rejected_files"] = "\(rejected.joined(separator: "; "))"
        logger.warning("Configuration reloaded, except for files that cannot be used", metadata: metadata)
    }

    private func reject(_ error: any Error, _ references: References, by client: String) -> ReloadReport {
        var report = ReloadReport(.rejected, at: clock.now(), by: client)
        if let error = error as? ConfigurationError {
            report.findings = error.findings.map { references.hide(in: $0) }.map {
                ReloadReport.Finding(file: $0.file, line: $0.line, setting: $0.setting, message: "\($0)")
            }
        } else {
            report.findings = [ReloadReport.Finding(file: named.file, message: references.hide(in: "\(error)"))]
        }
        for finding in report.findings {
            logger.error(
                "Configuration rejected; nothing changed",
                metadata: ["configuration.finding": "\(finding.message)", "control.client": "\(client)"]
            )
        }
        return finish(report)
    }

    private nonisolated func finish(_ report: ReloadReport) -> ReloadReport {
        var report = report
        report.rejectedFiles = configurationStatus.rejectedFiles
        current.withLock { [report] current in
            current.status.lastReload = report
            current.status.reloads[report.outcome, default: 0] += 1
        }
        return report
    }

    // MARK: Explaining

    /// An explanation, with notes about how the routes led to its target.
    private struct Explained: Encodable, Sendable {
        var notes: [String]
        var answer: GatewayAnswer?
        var explanation: Explanation
    }

    nonisolated func explain(
        _ url: TargetURI,
        _ fields: HTTPFields,
        for client: String?
    ) async throws -> any Encodable & Sendable {
        var request = AnswerForecast.Request(target: url)
        (request.fields, request.client) = (fields, client)
        var asked = ExplainedTarget(request, parts.server.forecast)
        var head = HTTPRequest(
            method: .get,
            scheme: asked.target.scheme,
            authority: asked.target.authority,
            path: asked.target.requestTarget,
            headerFields: fields
        )
        if parts.engine.selectsByScheme { asked.addScheme(to: &head.headerFields) }
        var cached = CacheRequest(head: head)
        cached.decodesGzip = true
        var explanation = try await parts.engine.explanation(of: cached, in: parts.store)
        if asked.answer == nil, parts.transport.isDrained(asked.target) {
            explanation = explanation.withoutOrigin
            asked.add("an operator drained every server of the origin, so no request is sent: see 'holdfast drain'")
        }
        return Explained(notes: asked.notes, answer: asked.answer, explanation: explanation)
    }
}
