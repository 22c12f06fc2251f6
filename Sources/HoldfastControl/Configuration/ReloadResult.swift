public import HTTPCache

/// The result of a reload, as clients of the control plane get it.
public struct ReloadResult: Sendable, Hashable, Codable {
    /// `reloaded`, `rejected` or `no-file`.
    public var outcome: ReloadReport.Outcome
    /// When it ended, by RFC 3339.
    public var at: String
    /// Who asked for it.
    public var by: String
    /// The faults, if it was rejected: the first 100.
    public var findings: [ReloadReport.Finding]
    /// The settings, routes and rules that have changed.
    public var changed: [ReloadReport.Change]
    /// The settings that change only with a restart: `from` is in force, `to` is in the file.
    public var kept: [ReloadReport.Change]

    /// The most findings of a result.
    static let findingLimit = 100

    /// The result of a report.
    public init(_ report: ReloadReport) {
        outcome = report.outcome
        at = EndTime.text(report.at)
        by = report.client
        findings = Array(report.findings.prefix(Self.findingLimit))
        changed = report.changed
        kept = report.kept
    }
}
