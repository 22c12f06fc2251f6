package import CacheRules

extension Configuration {
    /// Returns the place of a top-level setting; `nil` if the files do not set it.
    func place(of setting: String, from: String?) -> Place? {
        lines[setting].map { Place(file(of: setting), $0, from: from) }
    }

    /// The file that contains a top-level setting.
    func file(of setting: String) -> String? { files[setting] ?? file }

    /// Returns a finding at the place of a top-level setting.
    package func finding(_ setting: String, _ message: String) -> ConfigurationError.Finding {
        .init(file: file(of: setting), line: lines[setting], setting: setting, message: message)
    }

    /// The value of a top-level setting as written in the file, if it has references to variables.
    package func reference(in setting: String) -> String? { written[setting] }

    /// Returns whether a top-level setting has the same value in another configuration, however it
    /// is written.
    package func hasSameValue(_ setting: String, as other: Configuration) -> Bool {
        guard let setting = TopSetting.all.first(where: { $0.name == setting }) else { return false }
        return setting.written(self) == setting.written(other)
    }

    /// Records where a top-level setting was read.
    ///
    /// - Parameter written: the value as written if it has references to variables; otherwise
    ///   empty.
    mutating func note(_ setting: String, _ file: String?, _ line: Int, _ written: String) {
        lines[setting] = line
        if file != self.file { files[setting] = file }
        if !written.isEmpty { self.written[setting] = written }
    }
}

extension [String: String] {
    /// Records a value as written, and each of its members, if it has references to variables.
    mutating func add(_ entry: FileValue.Entry, _ written: String?, named name: String? = nil) {
        guard let written, !written.isEmpty else { return }
        let name = name ?? entry.key
        self[name] = written
        guard case .mapping(let members, _) = entry.value else { return }
        for member in members where member.value.hasReferences { self["\(name).\(member.key)"] = member.value.written }
    }
}
