/// A stored property of an endpoint that was meant to satisfy a requirement, but has the wrong name
/// or type.
package struct IgnoredProperty: Sendable, Hashable {
    /// The endpoint's type.
    package let endpoint: String
    /// The property's name.
    package let property: String
    /// The reason that the property is ignored, and the correction.
    package let explanation: String

    /// Returns the ignored properties of an endpoint. An enum has none, because it stores only the
    /// values of its cases.
    ///
    /// This uses reflection, which is slow.
    static func all(of endpoint: any Endpoint) -> [IgnoredProperty] {
        var found: [IgnoredProperty] = []
        var mirror: Mirror? = Mirror(reflecting: endpoint)
        while let level = mirror, level.displayStyle == .struct || level.displayStyle == .class {
            for (label, value) in level.children {
                guard let label, let (property, explanation) = explain(label, value, in: endpoint) else { continue }
                let type = "\(Swift.type(of: endpoint as Any))"
                found.append(IgnoredProperty(endpoint: type, property: property, explanation: explanation))
            }
            mirror = level.superclassMirror
        }
        return found
    }

    private static func explain(
        _ label: String,
        _ value: Any,
        in endpoint: some Endpoint
    ) -> (property: String, explanation: String)? {
        let lazyPrefix = "$__lazy_storage_$_"
        let isLazy = label.hasPrefix(lazyPrefix)
        let name = isLazy ? String(label.dropFirst(lazyPrefix.count)) : label
        var type: String { TypeText(Swift.type(of: value)).text }
        if let requirement = EndpointRequirement.all.first(where: { $0.name == name }) {
            if isLazy { return (name, requirement.explanation(ofKind: "lazy")) }
            guard Swift.type(of: value) == endpoint.typesOfRequirements[name] else {
                return (name, requirement.explanation(ofType: type))
            }
            // An implicitly unwrapped optional is the only case in which the type looks right but
            // does not satisfy the protocol.
            guard type.hasSuffix("?"), endpoint.isDefault(name),
                (value as? any OptionalConvertible)?.hasValue == true
            else { return nil }
            return (name, requirement.explanation(ofType: String(type.dropLast()) + "!"))
        }
        // This is the storage of a property wrapper or of a lazy property.
        guard !label.hasPrefix("_"), !isLazy,
            let requirement = EndpointRequirement.meant(byPropertyNamed: name, of: type),
            endpoint.isDefault(requirement.name)
        else { return nil }
        return (name, requirement.explanation(ofProperty: name))
    }
}

extension OptionalConvertible {
    fileprivate var hasValue: Bool { asOptional != nil }
}
