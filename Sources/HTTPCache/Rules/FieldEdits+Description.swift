import HTTPTypes

extension FieldEdits: CustomStringConvertible, CustomReflectable {
    /// The names alone: values may be secrets.
    public var description: String {
        let removed = removed.map(\.rawName).sorted().joined(separator: ", ")
        return "sets [\(set.map(\.name.rawName).joined(separator: ", "))], removes [\(removed)]"
    }

    /// The names alone, so that no dump shows a value.
    public var customMirror: Mirror {
        Mirror(self, children: ["set": set.map(\.name.rawName), "removed": removed.map(\.rawName).sorted()])
    }
}
