package import HTTPCacheSemantics

extension StorageRefusal {
    /// The value of the label `reason`: `responseNoStore` becomes `response-no-store`.
    package var label: String {
        var label = ""
        for character in rawValue {
            if character.isUppercase { label += "-" }
            label += character.lowercased()
        }
        return label
    }
}

extension StorageRefusal {
    /// The reason as a sentence for operators.
    package var words: String {
        switch self {
        case .responseNoStore:
            """
            The response has 'Cache-Control: no-store'. The rule setting 'ignore.directives' can override that; 'stale.ignore' \
            stores the response only for times when the origin is unreachable.
            """
        case .requestNoStore: "The request has 'Cache-Control: no-store'."
        case .privateResponse: "The response has 'Cache-Control: private', and the gateway is a shared cache."
        case .authorization:
            """
            The request has credentials, such as 'Cookie' or 'Authorization', and the response does not allow sharing. \
            The rule setting 'cookies.keep' removes all cookies except those that matter; 'store.per' stores the \
            response per user.
            """
        case .setCookie:
            """
            The response sets a cookie, so it may be meant for one client only. The rule setting 'store.without-cookies' \
            can leave out cookies that do not matter.
            """
        case .varyAny: "The response has 'Vary: *' or a malformed 'Vary'."
        case .notExplicit:
            "The response states no lifetime. The rule setting 'freshness.lifetime', or 'freshness.errors' for a status from 400 on, can set one."
        case .statusProvoked:
            "A malformed request can cause this status. The rule setting 'store.statuses' can allow it."
        case .statusNotFinal, .statusNotUnderstood, .statusAboutRequest: "Responses with this status are not stored."
        case .partialContent: "The response is partial content."
        case .method: "Responses to this method are not stored."
        case .rule: "The rule setting 'store.statuses' does not list the response's status."
        case .bypass: "The request bypasses the store, because of a rule or of a request field."
        case .storedSuccess: "The response is an error, which does not replace a stored success."
        case .guarded: "The response looks wrong compared with the stored response ('guard')."
        case .bodyLength: "The response's body is longer or shorter than a rule allows."
        case .fewUses: "The response was not asked for as often as the rule setting 'store.after-uses' requires."
        case .tags:
            "The response has more than 64 tags, a tag of more than 1,024 bytes, or a directive that forbids storing its tags."
        case .endless: "An event stream has no end, so it is not stored. The rule setting 'store.events' can store it."
        case .cutShort: "The response was cut short. The last failure of its origin says why."
        case .lastEvent: "The last event of the stream does not hold the text of 'ends-with' in 'store.events'."
        case .unclearEnd: "Bytes followed the end of the response: the origin frames it incorrectly."
        case .store:
            "The store rejected the response. It may be read-only, full, busy or failing, or the body may be too large."
        }
    }
}
