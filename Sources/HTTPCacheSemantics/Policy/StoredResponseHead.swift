public import HTTPTypes

/// A stored response without its body: the input of the policy.
public struct StoredResponseHead: Sendable, Hashable {
    /// The original request's method.
    public var requestMethod: HTTPRequest.Method
    /// The original request's fields that the response's `Vary` lists. A field that the request
    /// lacked is absent here. RFC 9111 §4.1
    public var selectingFields: HTTPFields
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields as received, in wire order, except those that must not be stored. RFC
    /// 9111 §3.1
    public var fields: HTTPFields {
        get { headFields.value }
        set { headFields = HeadFields(newValue) }
    }
    /// The fields in the form that the store returned.
    package var headFields: HeadFields
    /// The time at which the request for this head (or the last freshening) was sent. RFC 9111
    /// §4.2.3 `request_time`
    public var requestTime: Timestamp
    /// The time at which this head was received or last freshened. RFC 9111 §4.2.3 `response_time`
    public var responseTime: Timestamp
    /// An expiry set by the caller. It replaces the response's freshness lifetime.
    ///
    /// The response is fresh before this instant and stale from then on, whatever its fields state.
    /// Because the caller decided, the response's own requirements for validation (`no-cache`,
    /// `must-revalidate`, `proxy-revalidate`, `s-maxage`) are also overridden. The request's
    /// directives and an invalidation still apply. With `distantFuture`, the response never becomes
    /// stale.
    public var explicitExpiry: Timestamp?
    /// The cause of the invalidation; `nil` if the response was not invalidated.
    ///
    /// An invalidated response must be validated before use. While the origin is unreachable, it
    /// may still be served, unless an unsafe request invalidated it. RFC 9111 §4.4
    public var invalidation: InvalidationCause?
    /// The basis for serving the response to other clients. The default, for a head that was not
    /// read from a store, is ``SharingBasis/noCredentials``. RFC 9111 §3.5
    public var sharingBasis = SharingBasis.noCredentials
    /// Whether the response was invalidated. Setting it to `true` keeps a known cause.
    public var isInvalidated: Bool {
        get { invalidation != nil }
        set { invalidation = newValue ? invalidation ?? .unspecified : nil }
    }

    /// Records an invalidation if there is a cause. If there are two causes, the greater cause is
    /// kept.
    public mutating func invalidate(_ cause: InvalidationCause?) {
        guard let cause else { return }
        invalidation = max(invalidation ?? cause, cause)
    }

    /// Creates a head without checking anything.
    public init(
        requestMethod: HTTPRequest.Method = .get,
        selectingFields: HTTPFields = [:],
        status: HTTPResponse.Status,
        fields: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        explicitExpiry: Timestamp? = nil,
        isInvalidated: Bool = false
    ) {
        self.init(
            requestMethod: requestMethod,
            selectingFields: selectingFields,
            status: status,
            headFields: HeadFields(fields),
            requestTime: requestTime,
            responseTime: responseTime,
            explicitExpiry: explicitExpiry,
            isInvalidated: isInvalidated
        )
    }

    /// Creates a head as read by a store.
    package init(
        requestMethod: HTTPRequest.Method,
        selectingFields: HTTPFields,
        status: HTTPResponse.Status,
        headFields: HeadFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        explicitExpiry: Timestamp?,
        isInvalidated: Bool
    ) {
        self.requestMethod = requestMethod
        self.selectingFields = selectingFields
        self.status = status
        self.headFields = headFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.explicitExpiry = explicitExpiry
        invalidation = isInvalidated ? .unspecified : nil
    }
}

extension StoredResponseHead {
    /// The bytes that a stored partial response (status 206) contains; `nil` for a complete
    /// response and for a 206 without a valid `Content-Range`.
    package var partialRange: ContentRange? {
        status.code == 206 ? ContentRange(fields) : nil
    }

    /// The value of the `Range` that requests a stored part again; `nil` for a complete response,
    /// and for a part that was the whole representation, which may be longer now.
    package var repeatedRange: String? {
        guard let part = partialRange else { return nil }
        // With `Vary: Range`, only the same value selects the part.
        if let range = selectingFields[.range] { return range }
        return part.range.lowerBound == 0 && part.range.upperBound == part.completeLength ? nil : part.requestValue
    }

    /// The fields with which a request for the same content is repeated: the selecting fields and,
    /// for a stored part, the `Range` of its bytes.
    package var repeatedFields: HTTPFields {
        var fields = selectingFields
        if let range = repeatedRange { fields[.range] = range }
        return fields
    }
}
