import HTTPCacheSemantics
package import HTTPTypes

extension PreparedRequest {
    /// One thing that rules did to a request before it was looked up or sent.
    package enum Change: Sendable, Hashable {
        /// A parameter was taken out: neither keyed nor sent. Its decoded name.
        case droppedParameter(String)
        /// Parameters stand in the order of their names, which they did not.
        case sortedParameters
        /// A parameter is sent and not keyed. Its decoded name.
        case ignoredParameter(String)
        /// A field of the client's is neither keyed nor sent.
        case removedField(HTTPField.Name)
        /// A field is set towards the origin. Its value is nobody's to see.
        case setField(HTTPField.Name)
        /// A field of the client's is sent, and tells neither variants nor principals apart.
        case ignoredField(HTTPField.Name)
        /// `Accept-Encoding` is keyed and sent with this value.
        case normalizedAcceptEncoding(String)
        /// A parameter is sent, and counts as a credential: it is not in the key's target. Its
        /// decoded name.
        case secretParameter(String)
        /// The content of a POST is in the key.
        case keyedContent
        /// It is stored for its principal alone, whom this tells.
        case principal(ExchangeSettings.PrincipalSource)
        /// It goes past the store.
        case bypassed
        /// It goes past the store: its method is none of those that are stored.
        case methodNotStored
    }

    /// What the rules did to the request, in the order in which it was done. For people: it is
    /// found out anew each time.
    package var changes: [Change] {
        let secret = (request.secrets?.withheld(from: target).names ?? []).map(Change.secretParameter)
        guard let rules else { return secret }
        let settings = rules.settings
        let before = presented.head.headerFields
        let after = request.head.headerFields
        let (presentedTarget, target) = (shownTarget, shownSentTarget)
        var changes = secret + presentedTarget.droppedNames(rules.dropped).map(Change.droppedParameter)
        if settings.target.sortsParameters, presentedTarget.rewritten(dropping: rules.dropped) != target {
            changes.append(.sortedParameters)
        }
        changes += target.ignoredNames(rules.ignored).map(Change.ignoredParameter)
        changes += settings.requestFields.removed.filter { before.contains($0) }
            .sorted { $0.canonicalName < $1.canonicalName }.map(Change.removedField)
        var set: [HTTPField.Name] = []
        for field in settings.requestFields.set where !set.contains(field.name) { set.append(field.name) }
        changes += set.map(Change.setField)
        changes += settings.ignoredFields.filter { after.contains($0) }
            .sorted { $0.canonicalName < $1.canonicalName }.map(Change.ignoredField)
        if settings.normalizesAcceptEncoding, let value = after[.acceptEncoding], value != before[.acceptEncoding] {
            changes.append(.normalizedAcceptEncoding(value))
        }
        if request.keysContent, !presented.keysContent { changes.append(.keyedContent) }
        if isPerPrincipal, let principal = settings.principal { changes.append(.principal(principal)) }
        if settings.isBypassed {
            changes.append(.bypassed)
        } else if !settings.admits(request.head.method) {
            changes.append(.methodNotStored)
        }
        return changes
    }
}
