import HTTPCache
import HTTPTypes
import HoldfastConfiguration

/// What makes two calls' exchanges the same: the request, and all that decides how its response is
/// had and stored.
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
    /// The endpoint's and the value's: they say what is checked before a response is stored.
    private var types: [ObjectIdentifier] = []

    /// - Parameter bodyLimit: bytes of content that the call accepts.
    init<Value: Sendable>(_ request: RequestIdentity, _ sent: CacheRequest, _ call: Call<Value>, bodyLimit: Int) {
        self.request = request
        preference = sent.preference
        storage = sent.storage
        ignoresStored = sent.ignoresStored
        softTimeout = call.softTimeout
        rule = call.endpoint.rule
        secretParameters = sent.secretParameters
        secretFields = sent.secretFields
        self.bodyLimit = bodyLimit
        types = [ObjectIdentifier(Swift.type(of: call.endpoint)), ObjectIdentifier(Value.self)]
    }

    /// An exchange that is nothing but its request.
    init(_ request: RequestIdentity) {
        self.request = request
    }
}
