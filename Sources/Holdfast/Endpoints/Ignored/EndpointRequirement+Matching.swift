extension EndpointRequirement {
    /// Returns the requirement that a property was probably meant to satisfy; `nil` if its name and
    /// type suggest no requirement, or if it has the name of a requirement.
    ///
    /// A property whose type does not match is the endpoint's own data: `tag: String` is not a
    /// misspelled `tags`.
    ///
    /// - Parameter type: the property's type in Swift's short form.
    package static func meant(
        byPropertyNamed name: String,
        of type: @autoclosure () -> String
    ) -> EndpointRequirement? {
        guard name != "path", !all.contains(where: { $0.name == name }) else { return nil }
        return all.first { $0.isMeant(by: name, of: type) }
    }

    /// - Parameter type: returns the type; called only if the name suggests this requirement.
    private func isMeant(by property: String, of type: () -> String) -> Bool {
        let (property, own) = (property.lowercased(), name.lowercased())
        if property == own { return true }
        let isOtherName = otherNames.contains { $0.lowercased() == property }
        guard isOtherName || property.differsByOneLetter(from: own) else { return false }
        let type = type()
        let value = type.hasSuffix("?") || type.hasSuffix("!") ? String(type.dropLast()) : type
        if isOtherName {
            return types.contains(value) || otherTypes.contains(value)
                || (otherTypes.contains("[String: …]") && value.hasPrefix("[String: "))
        }
        return types.contains(value)
    }

    /// The types as text, such as `'String' or 'String?'`.
    package var typeWords: String { types.map { "'\($0)'" }.joined(separator: " or ") }

    /// Returns the reason that a property with another name is ignored.
    package func explanation(ofProperty property: String) -> String {
        "'\(property)' is ignored: 'Endpoint' has no such requirement. Use '\(name)' of type \(typeWords)."
    }

    /// Returns the reason that a property with this name and another type is ignored.
    package func explanation(ofType type: String) -> String {
        "'\(name)' is ignored, because its type is '\(type)'. 'Endpoint' expects \(typeWords). "
            + "If the property is something else, rename it."
    }

    /// Returns the reason that a property with this name is ignored, regardless of its type.
    ///
    /// - Parameter kind: the kind of property, such as `lazy`.
    package func explanation(ofKind kind: String) -> String {
        "'\(name)' is ignored, because it is \(kind). 'Endpoint' expects a property of type \(typeWords)."
    }
}

extension String {
    /// Returns whether one letter is missing, added, replaced, or swapped with its neighbor. A
    /// replaced letter counts only in words of at least five letters, because it turns a shorter
    /// word into a different word.
    fileprivate func differsByOneLetter(from other: String) -> Bool {
        let (mine, others) = (Array(utf8), Array(other.utf8))
        let shared = zip(mine, others).prefix { $0 == $1 }.count
        let (left, right) = (mine[shared...], others[shared...])
        switch left.count - right.count {
        case 1: return left.dropFirst().elementsEqual(right)
        case -1: return right.dropFirst().elementsEqual(left)
        case 0:
            guard left.count > 0 else { return false }
            if others.count > 4, left.dropFirst().elementsEqual(right.dropFirst()) { return true }
            return left.count > 1 && left[shared] == right[shared + 1] && left[shared + 1] == right[shared]
                && left.dropFirst(2).elementsEqual(right.dropFirst(2))
        default: return false
        }
    }
}
