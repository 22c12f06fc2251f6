import CacheRules
import HTTPCache
import HTTPTypes

/// The identity of an exchange: the request, and every setting that affects how its response is
/// fetched and stored. Calls with equal identities can share one exchange.
struct ExchangeIdentity: Hashable, Sendable {
    let request: RequestIdentity
    private var preference = CacheRequest.Preference.standard
    private var storage = CacheRequest.Storage.byResponse
    private var ignoresStored = false
    private var softTimeout: Duration?
    private var rule: RuleSettings?
    private var secretParameters: Set<String> = []
    private var secretFields: Set<HTTPField.Name> = []
    private var bodyLimit = 0
    /// The types of the endpoint and the value. They determine the checks before storing.
    private var types: [ObjectIdentifier] = []

    /// - Parameters:
    ///   - endpoint: the endpoint of the call.
    ///   - type: the type of the call's value.
    ///   - softTimeout: the time to wait for the network if a response is stored.
    ///   - bodyLimit: the maximum number of bytes of content for the call.
    init(
        _ request: RequestIdentity,
        _ sent: CacheRequest,
        for endpoint: any Endpoint,
        as type: Any.Type,
        softTimeout: Duration?,
        bodyLimit: Int
    ) {
        self.request = request
        preference = sent.preference
        storage = sent.storage
        ignoresStored = sent.ignoresStored
        self.softTimeout = softTimeout
        rule = endpoint.rule.asOptional
        secretParameters = sent.secretParameters
        secretFields = sent.secretFields
        self.bodyLimit = bodyLimit
        types = [ObjectIdentifier(Swift.type(of: endpoint)), ObjectIdentifier(type)]
    }

    /// Creates the identity of an exchange that has only a request and no settings.
    init(_ request: RequestIdentity) {
        self.request = request
    }
}
