public import HTTPCache

/// The result of a reload, as clients of the control plane receive it.
public struct ReloadResult: Sendable, Hashable, Codable {
    /// `reloaded`, `rejected` or `no-file`.
    public var outcome: ReloadReport.Outcome
    /// When the reload ended, as RFC 3339.
    public var at: String
    /// The client that requested it.
    public var by: String
    /// The first 100 errors, if the reload was rejected.
    public var findings: [ReloadReport.Finding]
    /// The settings, routes and rules that changed.
    public var changed: [ReloadReport.Change]
    /// The settings that need a restart to change: `from` is in effect, `to` is in the file.
    public var kept: [ReloadReport.Change]

    /// The most findings in a result.
    static let findingLimit = 100

    /// Creates the result from a report.
    public init(_ report: ReloadReport) {
        outcome = report.outcome
        at = EndTime.text(report.at)
        by = report.client
        findings = Array(report.findings.prefix(Self.findingLimit))
        changed = report.changed
        kept = report.kept
    }
}
