/// Every fault in a configuration, not only the first.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// One fault.
    public struct Finding: Sendable, Hashable, Codable {
        /// The file; `nil` for a configuration created in Swift.
        public var file: String?
        /// The line, from 1; `nil` if it is unknown.
        public var line: Int?
        /// The name of the rule or route, or `rule 3`.
        public var subject: String?
        /// The setting's name in the file: `freshness.lifetime`.
        public var setting: String?
        /// The fault, the actual value, and the allowed values.
        public var message: String

        /// Creates a finding.
        package init(
            file: String? = nil,
            line: Int? = nil,
            subject: String? = nil,
            setting: String? = nil,
            message: String
        ) {
            self.file = file
            self.line = line
            self.subject = subject
            self.setting = setting
            self.message = message
        }
    }

    /// The findings in the order of their lines; never empty.
    public let findings: [Finding]

    /// Creates an error.
    package init(_ findings: [Finding]) { self.findings = findings }

    /// One line for each finding.
    public var description: String { findings.map(\.description).joined(separator: "\n") }
}

extension ConfigurationError.Finding: CustomStringConvertible {
    /// The finding as one line: `holdfast.yaml:12: rule 'catalogue': freshness.lifetime: …`
    public var description: String {
        var place = file ?? ""
        if let line { place += place.isEmpty ? "line \(line)" : ":\(line)" }
        return [place.isEmpty ? nil : place, subject, setting, message].compactMap(\.self).joined(separator: ": ")
    }
}
