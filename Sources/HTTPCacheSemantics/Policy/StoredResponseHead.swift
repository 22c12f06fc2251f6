public import HTTPTypes

/// Everything about a stored response but its body: what policy decides on.
public struct StoredResponseHead: Sendable, Hashable {
    /// The original request's method.
    public var requestMethod: HTTPRequest.Method
    /// The original request's fields that the response's `Vary` nominates (absent ones are absent
    /// here). RFC 9111 §4.1
    public var selectingFields: HTTPFields
    /// The response's status.
    public var status: HTTPResponse.Status
    /// The response's fields as received, in wire order, without those that must not be stored. RFC
    /// 9111 §3.1
    public var fields: HTTPFields {
        get { headFields.value }
        set { headFields = HeadFields(newValue) }
    }
    /// The same as a store read them.
    package var headFields: HeadFields
    /// When the request was sent that brought this head (or last freshened it). RFC 9111 §4.2.3
    /// `request_time`
    public var requestTime: Timestamp
    /// When this head was received (or last freshened). RFC 9111 §4.2.3 `response_time`
    public var responseTime: Timestamp
    /// An expiry that the caller set; it takes the place of the freshness lifetime that the
    /// response gives.
    ///
    /// The response is fresh before this instant and stale from it on, whatever its fields say: the
    /// caller said how long it is good, so the response's own demands to be validated (`no-cache`,
    /// `must-revalidate`, `proxy-revalidate`, `s-maxage`) are lifted too. The request's directives
    /// and an invalidation still count. `distantFuture` is never stale.
    public var explicitExpiry: Timestamp?
    /// Why it was invalidated; `nil` where it was not.
    ///
    /// An invalidated response is kept for when the origin cannot be reached, and is not used
    /// without validation while it can. RFC 9111 §4.4
    public var invalidation: InvalidationCause?
    /// Whether it was invalidated. Setting it keeps a cause that is known already.
    public var isInvalidated: Bool {
        get { invalidation != nil }
        set { invalidation = newValue ? invalidation ?? .unspecified : nil }
    }

    /// Notes that it was invalidated, where there was a cause. Of two causes the greater one stays.
    public mutating func invalidate(_ cause: InvalidationCause?) {
        guard let cause else { return }
        invalidation = max(invalidation ?? cause, cause)
    }

    /// Makes a head; nothing is checked.
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

    /// Makes a head as a store read it.
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
