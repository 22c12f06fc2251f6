import CacheRules

/// One setting of a part of a file, such as a route: its name, its values, and how to read it.
struct PartSetting<Part>: Sendable {
    /// The setting's name in a file.
    let name: String
    let shape: Shape
    let isRequired: Bool
    let read: @Sendable (FileValue, inout Part) throws(Refusal) -> Void

    init(
        _ name: String,
        _ shape: Shape,
        isRequired: Bool = false,
        read: @escaping @Sendable (FileValue, inout Part) throws(Refusal) -> Void
    ) {
        self.name = name
        self.shape = shape
        self.isRequired = isRequired
        self.read = read
    }
}
