import HTTPCacheSemantics
package import HTTPTypes

extension PreparedRequest {
    /// A change that rules made to a request before it was looked up or sent.
    package enum Change: Sendable, Hashable {
        /// A parameter was removed, so it is neither keyed nor sent. The value is the decoded name.
        case droppedParameter(String)
        /// The parameters were sorted by name.
        case sortedParameters
        /// A parameter is sent but not keyed. The value is the decoded name.
        case ignoredParameter(String)
        /// A client's field is neither keyed nor sent.
        case removedField(HTTPField.Name)
        /// A field is set in the request to the origin. Its value is never shown.
        case setField(HTTPField.Name)
        /// A client's field is sent, but neither selects a variant nor identifies a principal.
        case ignoredField(HTTPField.Name)
        /// A cookie is neither keyed nor sent. The value is its name.
        case droppedCookie(String)
        /// A cookie is sent but not keyed, so the response is not stored. The value is its name.
        case forwardedCookie(String)
        /// A cookie's value is listed, and selects one of several responses. The value is its name.
        case listedCookie(String)
        /// A cookie is removed, because its value is not listed. The value is its name.
        case unlistedCookie(String)
        /// A field's value is listed, and selects one of several responses.
        case listedField(HTTPField.Name)
        /// A field is removed, because its value is not listed.
        case unlistedField(HTTPField.Name)
        /// The `Cookie` field cannot be read reliably, so it counts as a credential.
        case unreadCookies
        /// `Accept-Encoding` is keyed and sent with this value.
        case normalizedAcceptEncoding(String)
        /// A parameter is sent but treated as a credential, so it is not in the key's target. The
        /// value is the decoded name.
        case secretParameter(String)
        /// The content of a POST is in the key.
        case keyedContent
        /// The content of a POST is in the key in its canonical form, because it is JSON.
        case keyedJSON
        /// Members of the content are sent but not keyed. The value is their path.
        case ignoredMember(String)
        /// The response is stored only for its principal, which this source identifies.
        case principal(ExchangeSettings.PrincipalSource)
        /// The request bypasses the store.
        case bypassed
        /// The request bypasses the store, because responses to its method are not stored.
        case methodNotStored
        /// The request bypasses the store, because it has credentials.
        case credentialsNotStored
    }

    /// The changes that the rules made to the request, in order. They are for people and are
    /// computed on each access.
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
        changes += cookieChanges
        if settings.normalizesAcceptEncoding, let value = after[.acceptEncoding], value != before[.acceptEncoding] {
            changes.append(.normalizedAcceptEncoding(value))
        }
        if request.isContentKeyed, request.canonicalJSON(settings) != nil {
            changes.append(.keyedJSON)
            changes += settings.ignoredMembers.paths.map(Change.ignoredMember)
        } else if request.keysContent, !presented.keysContent {
            changes.append(.keyedContent)
        }
        if isPerPrincipal, let principal = settings.principal { changes.append(.principal(principal)) }
        if settings.isBypassed {
            changes.append(.bypassed)
        } else if !settings.admits(request.head.method) {
            changes.append(.methodNotStored)
        } else if isRefusedForCredentials {
            changes.append(.credentialsNotStored)
        }
        return changes
    }

    private var cookieChanges: [Change] {
        guard let settings else { return [] }
        var changes: [Change] = []
        let isRuled = settings.cookies != nil || !settings.listed.cookies.isEmpty
        if let cookies {
            changes += cookies.others.cookies.map {
                cookies.sendsOthers ? .forwardedCookie($0.name) : .droppedCookie($0.name)
            }
            changes += cookies.listed.cookies.map { .listedCookie($0.name) }
            changes += cookies.unlisted.cookies.map { .unlistedCookie($0.name) }
        } else if isRuled, request.head.headerFields.contains(.cookie) {
            changes.append(.unreadCookies)
        }
        for name in settings.listed.fields.keys.sorted(by: { $0.canonicalName < $1.canonicalName })
        where presented.head.headerFields.contains(name) {
            changes.append(request.head.headerFields.contains(name) ? .listedField(name) : .unlistedField(name))
        }
        return changes
    }
}
