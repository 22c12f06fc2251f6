/// What is wrong with a configuration: all of it, not only the first.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// One thing that is wrong.
    public struct Finding: Sendable, Hashable, Codable {
        /// The file; `nil` for Swift values.
        public var file: String?
        /// Its line, from 1.
        public var line: Int?
        /// Which rule or route: its name, or `rule 3`.
        public var subject: String?
        /// The setting as it is written: `freshness.lifetime`.
        public var setting: String?
        /// What is wrong, which value it has, and what is allowed.
        public var message: String

        /// A finding.
        public init(
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

    /// In the order of their lines; never empty.
    public let findings: [Finding]

    /// An error.
    public init(_ findings: [Finding]) { self.findings = findings }

    /// One line for each.
    public var description: String { findings.map(\.description).joined(separator: "\n") }
}

extension ConfigurationError.Finding: CustomStringConvertible {
    /// `holdfast.yaml:12: rule 'catalogue': freshness.lifetime: …`
    public var description: String {
        var place = file ?? ""
        if let line { place += place.isEmpty ? "line \(line)" : ":\(line)" }
        return [place.isEmpty ? nil : place, subject, setting, message].compactMap(\.self).joined(separator: ": ")
    }
}
