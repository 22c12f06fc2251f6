import CacheRules

extension Configuration {
    /// Returns the store's folder that an invalid file sets, as a path that can be opened.
    ///
    /// Commands for a running gateway need only this setting, to find the control socket, and must
    /// work while the file has an error. Only `store.path` is read. If the main file is not valid
    /// YAML, `store` is read if it begins a line.
    ///
    /// - Returns: `nil` if the file does not set it, or if it cannot be read.
    package static func storeFolder(ofInvalidFile path: String, environment: [String: String]) -> String? {
        guard let text = try? Self.text(ofFile: path) else { return nil }
        let files = SourceFiles(text, path: path)
        var documents = files.sources.compactMap { storePath(in: $0.document) }
        if files.sources.isEmpty, let document = storePath(inLinesOf: text) { documents.append(document) }
        // Paths are relative to the main file, also those in files that it includes.
        let sources = documents.map { SourceFiles.Source(path: path, document: $0) }
        return FileReader(sources, environment: environment).configuration.storeFolder
    }

    /// Returns a document without everything except the version and the store's path; `nil` if it
    /// does not set the path.
    private static func storePath(in document: FileValue) -> FileValue? {
        guard case .mapping(let entries, let line) = document,
            let store = entries.first(where: { $0.key == "store" }),
            case .mapping(let settings, let storeLine) = store.value,
            let path = settings.first(where: { $0.key == "path" })
        else { return nil }
        let version = FileValue.text("\(Self.version)", isPlain: true, line: line)
        return .mapping(
            [
                FileValue.Entry(key: "version", line: line, value: version),
                FileValue.Entry(key: "store", line: store.line, value: .mapping([path], line: storeLine)),
            ],
            line: line
        )
    }

    /// The maximum number of lines that are read for `store` in a file that is not valid YAML.
    private static let storeLineLimit = 100

    /// Returns the document made of the first lines after the only line that begins with `store:`,
    /// as many as are needed for the path.
    private static func storePath(inLinesOf text: String) -> FileValue? {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let first = lines.indices.filter { lines[$0].hasPrefix("store:") }
        guard first.count == 1 else { return nil }
        var section = ""
        for line in lines[first[0]...].prefix(storeLineLimit) {
            if !section.isEmpty, let start = line.first, start != " ", start != "#" { return nil }
            section += "\(line)\n"
            var parser = Document()
            if let document = try? parser.read(section), let path = storePath(in: document) { return path }
        }
        return nil
    }
}
