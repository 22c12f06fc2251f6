/// Names that other programs use for settings of a group. A message suggests the names that the
/// group has.
enum CommonNames {
    /// The names of the settings, by group and by the name in other programs.
    private static let settings: [String: [String: [String]]] = [
        "ignore": ["query": ["parameters"], "params": ["parameters"], "headers": ["fields"]],
        "timeouts": [
            "read": ["first-byte", "receive"], "response": ["first-byte"], "write": ["send"], "keep-alive": ["idle"],
            "request": ["hard"], "total": ["hard"],
        ],
    ]

    /// Returns the names of the group's settings that were probably meant; empty if there are none.
    ///
    /// - Parameter known: the names that are known in this place.
    static func meant(by name: String, in group: String?, of known: [String]) -> [String] {
        group.flatMap { settings[$0]?[name] }?.filter(known.contains) ?? []
    }
}
