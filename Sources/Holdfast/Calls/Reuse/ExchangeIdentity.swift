import HTTPCache
import HTTPTypes
import HoldfastConfiguration

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

    /// - Parameter bodyLimit: the maximum number of bytes of content for the call.
    init<Value: Sendable>(_ request: RequestIdentity, _ sent: CacheRequest, _ call: Call<Value>, bodyLimit: Int) {
        self.request = request
        preference = sent.preference
        storage = sent.storage
        ignoresStored = sent.ignoresStored
        softTimeout = call.softTimeout
        rule = call.endpoint.rule.asOptional
        secretParameters = sent.secretParameters
        secretFields = sent.secretFields
        self.bodyLimit = bodyLimit
        types = [ObjectIdentifier(Swift.type(of: call.endpoint)), ObjectIdentifier(Value.self)]
    }

    /// Creates the identity of an exchange that has only a request and no settings.
    init(_ request: RequestIdentity) {
        self.request = request
    }
}
