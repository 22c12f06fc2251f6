package import HTTPTypes

extension HTTPFields {
    /// Adds names to `Vary`, unless it has them or is `*`. A malformed `Vary` stays malformed. RFC
    /// 9110 §12.5.5
    package mutating func addToVary(_ names: [HTTPField.Name]) {
        let vary = FieldNameList(.vary, in: self)
        guard !vary.hasWildcard else { return }
        let missing = names.filter { !vary.names.contains($0.canonicalName) }
        guard !missing.isEmpty else { return }
        self[.vary] = (self[values: .vary] + missing.map(\.rawName)).joined(separator: ", ")
    }
}
