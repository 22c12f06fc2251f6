import HTTPCacheSemantics
import HTTPTypes
import NIOCore
import Testing

@testable import HTTPCache

/// A response to the request of an in-flight fetch, and what becomes of it.
struct FetchCase: Sendable, CustomTestStringConvertible {
    /// A decision without the responses in it.
    enum Decision: Sendable, Hashable {
        case freshens, confirms, asksAgain, completes, combines, refuses
        /// Stored for all.
        case stores
        /// Stored for the request's principal.
        case storesForPrincipal
        case passes(StorageRefusal)

        init(_ decision: FetchDecision) {
            switch decision {
            case .freshen: self = .freshens
            case .confirm: self = .confirms
            case .askAgain: self = .asksAgain
            case .store(let draft): self = draft.key == draft.key.inPartition(.common) ? .stores : .storesForPrincipal
            case .complete: self = .completes
            case .combine: self = .combines
            case .passThrough(let refusal): self = .passes(refusal)
            case .refuse: self = .refuses
            }
        }
    }

    let testDescription: String
    private let kind: CacheKind
    private let method: HTTPRequest.Method
    private let fields: HTTPFields
    private let settings: ExchangeSettings?
    private let change: @Sendable (inout CacheRequest) -> Void
    private let know: @Sendable (inout FetchContext) -> Void
    let response: HTTPResponse
    let decision: Decision

    /// - Parameters:
    ///   - fields: of the request.
    ///   - rules: the settings that apply to the request; none by default.
    ///   - change: changes the request.
    ///   - know: gives the in-flight fetch the stored responses.
    init(
        _ name: String,
        _ decision: Decision,
        _ status: HTTPResponse.Status = .ok,
        _ responseFields: HTTPFields = [:],
        kind: CacheKind = .private,
        method: HTTPRequest.Method = .get,
        to fields: HTTPFields = [:],
        rules: ((inout ExchangeSettings) -> Void)? = nil,
        change: @escaping @Sendable (inout CacheRequest) -> Void = { _ in },
        beside know: @escaping @Sendable (inout FetchContext) -> Void = { _ in }
    ) {
        testDescription = name
        self.kind = kind
        self.method = method
        self.fields = fields
        settings = rules.map { change in
            var settings = ExchangeSettings()
            change(&settings)
            return settings
        }
        self.change = change
        self.know = know
        response = HTTPResponse(status: status, headerFields: responseFields)
        self.decision = decision
    }

    static let requestTime = Timestamp(seconds: 1_700_000_000)
    static let responseTime = requestTime.adding(.seconds(2))

    /// The facts that an in-flight fetch knows of its request, without an engine.
    func context() throws -> FetchContext {
        var request = CacheRequest(
            head: HTTPRequest(
                method: method,
                scheme: "https",
                authority: "a.example",
                path: "/feed?page=1&token=opensesame",
                headerFields: fields
            )
        )
        if method == .post || method.rawValue == "QUERY" { request.body = .buffer(ByteBuffer(string: "{}")) }
        change(&request)
        let target = try #require(TargetURI(request: request.head))
        let snapshot = PreparedRequest.Snapshot(
            policy: CachePolicy(kind: kind),
            partitions: CredentialPartition(secret: [UInt8](repeating: 7, count: 32)),
            modes: EngineModes(mode: .automatic),
            staleness: .none,
            settingsVersion: 0
        )
        let rules = settings.map { RequestRules(settings: $0) }
        let prepared = try #require(PreparedRequest(request, rules: rules, snapshot))
        var context = FetchContext(
            prepared,
            // Requests without a key of their own never get this far, except HEAD and POST.
            key: prepared.key ?? StoreKey(target: target),
            FetchPlan(
                PlannedFetch(request: request.head, reason: .uriMiss),
                FetchPlan.Known(fencingNumber: InvalidationSequence(0))
            ),
            requestTime: Self.requestTime,
            options: EngineOptions()
        )
        know(&context)
        return context
    }

    func decide() throws -> FetchDecision { try context().decide(response, at: Self.responseTime) }
}

extension FetchContext {
    /// A response that is stored for the request.
    ///
    /// - Parameter isCommon: it is stored for all, and not for the request's principal.
    func stored(
        _ fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"1\"", .contentType: "application/json"],
        _ status: HTTPResponse.Status = .ok,
        length: Int64 = 10,
        isCommon: Bool = true
    ) -> StoredResponse {
        StoredResponse(
            id: 1,
            key: isCommon ? key.inPartition(.common) : key,
            head: StoredResponseHead(
                status: status,
                fields: fields,
                requestTime: Timestamp(seconds: 1_699_999_000),
                responseTime: Timestamp(seconds: 1_699_999_001)
            ),
            bodyID: 1,
            bodyLength: length,
            storedAt: Timestamp(seconds: 1_699_990_000)
        )
    }

    /// The first five bytes of ten, stored.
    func storedPart(isCommon: Bool = true) -> StoredResponse {
        let fields: HTTPFields = [
            .cacheControl: "public, max-age=60", .eTag: "\"1\"", .contentRange: "bytes 0-4/10", .contentLength: "5",
        ]
        return stored(fields, .partialContent, length: 5, isCommon: isCommon)
    }
}
