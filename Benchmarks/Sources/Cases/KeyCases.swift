import HTTPCacheSemantics
import HTTPTypes

/// From a URL, or a request, to a cache key.
func keyCases() -> [Case] {
    var cases: [Case] = []
    let short = "https://api.example/v2/feeds/harbour/moments?limit=20"
    let parameters = (1...20).map { "parameter\($0)=value-\($0)" }.joined(separator: "&")
    let long = "https://api.example/v2/feeds/harbour/moments?\(parameters)"
    cases.measure("Key: short URL") { (try? TargetURI(short)).map { StoreKey(target: $0) } }
    cases.measure("Key: URL with 20 parameters") { (try? TargetURI(long)).map { StoreKey(target: $0) } }

    let request = Messages.request
    cases.measure("Key: request") { TargetURI(request: request).map { StoreKey(target: $0) } }
    var longRequest = request
    longRequest.path = "/v2/feeds/harbour/moments?\(parameters)"
    cases.measure("Key: request with 20 parameters") { [longRequest] in
        TargetURI(request: longRequest).map { StoreKey(target: $0) }
    }
    let bytes = TargetURI(request: request).map { StoreKey(target: $0).bytes } ?? []
    cases.measure("Key: read back") { StoreKey(bytes: bytes) }
    return cases
}
