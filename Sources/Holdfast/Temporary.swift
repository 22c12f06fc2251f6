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
extension HoldfastError {
    init(refused status: HTTPResponse.Status, target: String, body: [UInt8]?) {
        self.init(code: .status, message: "'\(target)' answered \(status).", status: status, body: body)
    }
}
struct ContentDecoding: Sendable {
    var decoder: any ResponseDecoder
    var envelope: Envelope?
    var path: ValuePath
    var emptyContent: EmptyContent
    func checkEnvelope(_ data: Data, status: HTTPResponse.Status, target: String) throws {}
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data, status: HTTPResponse.Status, target: String)
        throws -> Value
    {
        if let value = NoContent() as? Value { return value }
        if let value = data as? Value { return value }
        if type == String.self, let value = String(bytes: data, encoding: .utf8) as? Value { return value }
        guard !data.isEmpty else {
            throw HoldfastError(
                code: .noData,
                message: "'\(target)' answered \(status) without content; a '\(type)' was expected.",
                status: status,
                body: Array(data)
            )
        }
        do { return try decoder.decode(type, from: data) } catch {
            throw HoldfastError(
                code: .decodingFailed,
                message: "The content of '\(target)' is no '\(type)'",
                status: status,
                body: Array(data),
                cause: error
            )
        }
    }
}
