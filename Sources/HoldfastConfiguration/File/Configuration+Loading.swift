import CacheRules
public import Foundation

extension Configuration {
    /// Reads a configuration file.
    ///
    /// - Parameters:
    ///   - path: the file's path. Paths in the file are relative to its folder.
    ///   - environment: the variables in which `${NAME}` and `{env: NAME}` are looked up.
    /// - Throws: `ConfigurationError` with every finding, in the order of the files and lines.
    public init(
        contentsOf path: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        try self.init(contentsOf: path, environment: environment, looksUpValues: true, previous: nil)
    }

    /// Reads a configuration file again. If a page or the value of a field cannot be read from its
    /// file, the previous configuration's content stays in use, and ``rejectedFiles`` says why.
    ///
    /// - Throws: `ConfigurationError`, also for a file without previous content.
    package init(
        contentsOf path: String,
        since previous: Configuration,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        try self.init(contentsOf: path, environment: environment, looksUpValues: true, previous: previous)
    }

    /// Reads a file for a tool that sends no requests. It does not look up field values in the
    /// environment or in files, so a missing value is not an error. `${NAME}` is expanded.
    package init(
        withoutValuesOf path: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        try self.init(contentsOf: path, environment: environment, looksUpValues: false, previous: nil)
    }

    private init(
        contentsOf path: String,
        environment: [String: String],
        looksUpValues: Bool,
        previous: Configuration?
    ) throws {
        let text = try Self.text(ofFile: path)
        try self.init(
            yaml: text,
            file: path,
            environment: environment,
            looksUpValues: looksUpValues,
            previous: previous
        )
    }

    /// - Throws: `ConfigurationError`
    static func text(ofFile path: String) throws -> String {
        let bytes: [UInt8]
        switch FileContent.read(path, limit: Document.maximumLength) {
        case .success(let found): bytes = found
        case .failure(let refusal):
            throw ConfigurationError([.init(file: path, message: "The file \(refusal.message)")])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            // No byte of a longer character is a line feed.
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let line = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil }.map { $0 + 1 }
            throw ConfigurationError([
                .init(file: path, line: line, message: "The line is not UTF-8. Save the file as UTF-8.")
            ])
        }
        return text
    }

    /// Parses the text of a configuration file. JSON is valid YAML, so it is also accepted.
    ///
    /// - Parameters:
    ///   - yaml: the text, up to 16 MiB.
    ///   - file: the name of the file in messages. Paths in the text are relative to its folder, or
    ///     to the current folder if it is `nil`. Without it, the text cannot include files.
    ///   - environment: the variables in which `${NAME}` and `{env: NAME}` are looked up.
    /// - Throws: `ConfigurationError` with every finding, in the order of the files and lines.
    public init(
        yaml: String,
        file: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws {
        try self.init(yaml: yaml, file: file, environment: environment, looksUpValues: true, previous: nil)
    }

    private init(
        yaml: String,
        file: String?,
        environment: [String: String],
        looksUpValues: Bool,
        previous: Configuration?
    ) throws {
        let files = SourceFiles(yaml, path: file)
        guard files.findings.isEmpty else { throw ConfigurationError(files.findings) }
        let reader = FileReader(files.sources, environment: environment)
        let sources = FieldSources(
            environment: environment,
            folder: file.map(Self.folder),
            looksUp: looksUpValues,
            previous: previous?.rules.compiled.values ?? [:]
        )
        let checked = CheckedRules(reader.rules, skipped: reader.brokenRules, sources: sources)
        var configuration = reader.configuration
        let pageFindings = looksUpValues ? configuration.readErrorPages(since: previous) : []
        let findings = reader.findings + pageFindings + checked.findings
        guard findings.isEmpty else {
            let order = Dictionary(files.sources.enumerated().map { ($1.path, $0) }) { first, _ in first }
            // Sorting is not stable, so findings on the same line are ordered by their offset.
            let sorted = findings.enumerated().sorted {
                (order[$0.element.file] ?? 0, $0.element.line ?? 0, $0.offset)
                    < (order[$1.element.file] ?? 0, $1.element.line ?? 0, $1.offset)
            }
            throw ConfigurationError(sorted.map { reader.configuration.references.hide(in: $0.element) })
        }
        self = configuration
        rules = RuleSet(checked, lowest: routeRules())
        unreadableValues = describe(checked.unreadable)
    }

    /// Rereads the files of field values, such as `to-origin.set: {X-Key: {file: PATH}}`, and the
    /// pages that could not be used before. Content that cannot be used changes nothing, except
    /// ``rejectedFiles``.
    ///
    /// - Returns: the configuration with the new content; `nil` if nothing changed.
    package func rereadingFiles(
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> Configuration? {
        var result = self
        // Each value has a previous one, so the rules cannot have new findings.
        if rules.compiled.values.keys.contains(where: { if case .file = $0 { true } else { false } }) {
            let known = rules.compiled.values
            let sources = FieldSources(environment: environment, folder: file.map(Self.folder), previous: known)
            let checked = CheckedRules(rules.rules, sources: sources)
            if checked.values != known { result.rules = RuleSet(checked, lowest: routeRules()) }
            result.unreadableValues = describe(checked.unreadable)
        }
        if !unreadablePages.isEmpty { _ = result.readErrorPages(since: self) }
        let isSame =
            result.rules === rules && result.rejectedFiles == rejectedFiles
            && zip(result.routes, routes).allSatisfy { $0.errorPages == $1.errorPages }
        return isSame ? nil : result
    }

    /// Why pages and values of fields could not be read from their files, a sentence each. Their
    /// previous content stays in use. No sentence contains a value.
    package var rejectedFiles: [String] { unreadableValues + unreadablePages }

    /// Returns findings as text, without the values of variables.
    func describe(_ findings: [ConfigurationError.Finding]) -> [String] {
        findings.map { "\(references.hide(in: $0))" }
    }

    /// Returns the folder of a file.
    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
