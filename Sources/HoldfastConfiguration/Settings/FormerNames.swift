/// Names that settings had before the first release. A file with one of them is rejected, and the
/// error gives the new name. There are no aliases.
enum FormerNames {
    /// The new names, by the old ones: of settings, and of groups of settings.
    static let settings = [
        "shared": "fleet", "stale.normal": "stale.unreachable", "stale.despite": "stale.ignore",
    ]

    /// The new name of a setting; `nil` if the name was never in use.
    ///
    /// - Parameters:
    ///   - name: as a file has it: `url` in a group, `shared.url` without one.
    ///   - group: the group in which it stands.
    static func newName(of name: String, in group: String? = nil) -> String? {
        let full = group.map { "\($0).\(name)" } ?? name
        if let new = settings[full] {
            // In a group, a file has the last part alone.
            guard let group, new.hasPrefix("\(group).") else { return new }
            return String(new.dropFirst(group.count + 1))
        }
        guard group == nil, let point = full.firstIndex(of: "."), let new = settings[String(full[..<point])] else {
            return nil
        }
        return new + full[point...]
    }
}
