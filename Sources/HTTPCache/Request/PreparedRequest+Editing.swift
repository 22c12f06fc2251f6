import HTTPCacheSemantics
import HTTPTypes

extension PreparedRequest {
    /// The rules' changes to the origin's responses; `nil` if there are none, or if the request has
    /// credentials. A response to such a request may be meant for one user, who needs all of it. A
    /// job has one identity, so its requests may have credentials.
    var originEdits: OriginFieldEdits? {
        guard let edits = rules?.settings.fromOrigin, !edits.isEmpty, !identifiesSender else { return nil }
        return edits
    }

    /// Whether rules remove fields for requests without credentials, but not for this request. It
    /// then shares no response with them, in either direction.
    var keepsRemovedFields: Bool { rules?.settings.fromOrigin.removed.isEmpty == false && identifiesSender }

    /// Whether the origin can tell who sent the request. As for storing, a credential that a rule
    /// ignores does not count, except `Authorization`. RFC 9111 §3.5
    ///
    /// In a job, no other sender gets the response.
    private var identifiesSender: Bool {
        if isInJob { return false }
        return hasCredentials || sendsUnkeyedCookies || request.head.headerFields.contains(.authorization)
    }

    /// Returns an origin's response in the form in which it is judged, stored and sent.
    func edited(_ response: TransportResponse) -> TransportResponse {
        let originEdits = originEdits
        guard originEdits != nil || isInJob else { return response }
        var response = response
        originEdits?.apply(to: &response)
        if isInJob { keepPartApart(&response.head) }
        return response
    }

    /// Makes a part (206) a variant for its range, and lets it remain one when it is validated.
    ///
    /// A job has to answer each range that was requested. A cache keeps only one part of a
    /// representation, or parts that touch each other. RFC 9111 §3.4
    private func keepPartApart(_ response: inout HTTPResponse) {
        switch response.status {
        case .partialContent: response.headerFields.addToVary([.range])
        case .notModified where request.head.headerFields.contains(.range): response.headerFields[.vary] = nil
        default: break
        }
    }

    /// Returns a request whose interim responses are edited, too.
    func editingInterims(_ request: TransportRequest) -> TransportRequest {
        guard let originEdits, let inform = request.onInformational else { return request }
        var request = request
        request.onInformational = { interim in
            var interim = interim
            originEdits.remove(from: &interim)
            inform(interim)
        }
        return request
    }
}
