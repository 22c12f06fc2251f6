import HTTPCache
package import HTTPCacheOperations

/// The result of a reload, as returned by the control plane.
package struct ReloadResult: Sendable, Hashable, Codable {
    /// The outcome: `reloaded`, `rejected` or `no-file`.
    package var outcome: ReloadReport.Outcome
    /// The time when the reload ended, as RFC 3339 text.
    package var at: String
    /// The client that requested the reload.
    package var by: String
    /// The first 100 errors if the reload was rejected; otherwise empty.
    package var findings: [ReloadReport.Finding]
    /// The settings, routes and rules that changed.
    package var changed: [ReloadReport.Change]
    /// The changed settings that take effect only after a restart: `from` is in effect, `to` is in
    /// the file.
    package var kept: [ReloadReport.Change]
    /// The paths of the first 100 other files that the configuration names whose content changed
    /// since the last reload. `nil` if there are none.
    package var changedFiles: [String]?
    /// Why files that the configuration names cannot be used, a sentence each. Their previous
    /// content stays in use. `nil` if there are none.
    package var rejectedFiles: [String]?
    /// A sentence for each mode of an origin or route, and each drain, that has no effect, because
    /// the file no longer has what it names. `nil` if there are none.
    package var ineffectiveSwitches: [String]?

    /// The maximum number of errors in a result.
    static let findingLimit = 100

    /// Creates the result from a report.
    package init(_ report: ReloadReport) {
        outcome = report.outcome
        at = EndTime.text(report.at)
        by = report.client
        findings = Array(report.findings.prefix(Self.findingLimit))
        changed = report.changed
        kept = report.kept
        changedFiles = report.changedFiles.isEmpty ? nil : Array(report.changedFiles.prefix(Self.findingLimit))
        rejectedFiles = report.rejectedFiles.isEmpty ? nil : Array(report.rejectedFiles.prefix(Self.findingLimit))
        ineffectiveSwitches = report.ineffectiveSwitches.isEmpty ? nil : report.ineffectiveSwitches
    }
}
