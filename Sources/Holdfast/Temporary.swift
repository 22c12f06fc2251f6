import HTTPCache
import HTTPTypes

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
extension CacheRequest.Preference { static var staleWhileRevalidate: Self { .storedFirst } }
extension CacheRequest {
    var reuseWithin: Duration? {
        get { nil }
        set {}
    }
    var secretParameters: Set<String> {
        get { [] }
        set {}
    }
    var secretFields: Set<HTTPField.Name> {
        get { [] }
        set {}
    }
}
extension RequestBody { var isReplayable: Bool { if case .buffer = self { true } else { false } } }
extension CacheEngine {
    func invalidate(_ request: CacheRequest, keepingForOffline: Bool) async throws {}
    func invalidate(tagged: String, keepingForOffline: Bool) async throws {}
}
extension Endpoint {
    func request(environment: ServerEnvironment?, defaults: RequestDefaults) throws -> CacheRequest {
        try request(defaults: defaults)
    }
}
extension HTTPTask { var downloadDestination: DownloadDestination? { nil } }
