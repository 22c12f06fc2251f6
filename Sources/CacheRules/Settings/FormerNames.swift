/// Names that settings had before the first release. A file with one of them is rejected with an
/// error that gives the new name. There are no aliases.
package enum FormerNames {
    /// The new names of settings and groups, by their old names.
    package static let settings = [
        "shared": "fleet", "stale.normal": "stale.unreachable", "stale.despite": "stale.ignore",
    ]

    /// Returns the new name of a setting, or `nil` if the name was never used.
    ///
    /// - Parameters:
    ///   - name: the name as written in a file: `url` inside a group, `shared.url` outside a group.
    ///   - group: the group that contains the name.
    package static func newName(of name: String, in group: String? = nil) -> String? {
        let full = group.map { "\($0).\(name)" } ?? name
        if let new = settings[full] {
            // Inside a group, a file contains only the last part.
            guard let group, new.hasPrefix("\(group).") else { return new }
            return String(new.dropFirst(group.count + 1))
        }
        guard group == nil, let point = full.firstIndex(of: "."), let new = settings[String(full[..<point])] else {
            return nil
        }
        return new + full[point...]
    }
}
