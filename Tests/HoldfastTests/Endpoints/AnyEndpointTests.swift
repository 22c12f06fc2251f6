import Foundation
import Testing

@testable import Holdfast

@Suite(.timeLimit(.minutes(20))) struct AnyEndpointTests {
    private enum Weather: Endpoint {
        case today
        var path: String { "/today" }
    }

    /// An endpoint that sets every requirement.
    private struct Particular: Endpoint {
        typealias Response = String
        var baseURL: String { "https://a.example" }
        func baseURL(in environment: ServerEnvironment?) -> String { "https://\(environment?.name ?? "none").example" }
        var path: String { "/x" }
        var method: HTTPRequest.Method { .patch }
        var task: HTTPTask { .json(["a": 1]) }
        var headers: HTTPFields { [.accept: "text/plain"] }
        var principal: String? { "ada" }
        var secrets: Secrets { Secrets(parameters: ["key"]) }
        var isMutation: Bool { false }
        var isIdempotent: Bool { false }
        var storage: CacheRequest.Storage { .never }
        var rule: RuleSettings? { RuleSettings() }
        var tags: [String] { ["particular"] }
        var strategy: SingleValueStrategy { .networkFirst }
        var invalidates: [StoreInvalidation] { [.tag("feed")] }
        var invalidatesTarget: Bool { true }
        var acceptedStatuses: AcceptedStatuses { [204] }
        var valuePath: ValuePath { "data.x" }
        var envelope: EnvelopeChoice { .none }
        var emptyContent: EmptyContent { .json("{}") }
        var maximumBodyBytes: Int? { 7 }
        var timeout: Duration? { .seconds(3) }
        var retry: RetryPlan? { RetryPlan() }
        var redirects: RedirectPolicy { .always }
        var sampleResponse: SampleResponse? { SampleResponse(json: "{}") }
    }

    @Test func everyRequirementIsForwardedToTheEndpoint() throws {
        let own = Particular()
        let erased = AnyEndpoint(own)
        let environment = ServerEnvironment("staging", baseURL: "https://b.example")
        #expect(erased.baseURL == own.baseURL)
        #expect(erased.baseURL(in: environment) == "https://staging.example")
        #expect(erased.path.text == own.path && erased.method == own.method)
        #expect(try erased.headers.httpFields() == own.headers)
        #expect(erased.principal == own.principal && erased.secrets == own.secrets)
        #expect(erased.isMutation == own.isMutation && erased.isIdempotent == own.isIdempotent)
        #expect(erased.storage == own.storage && erased.rule != nil && erased.invalidates.count == 1)
        #expect(erased.tags == own.tags && erased.invalidatesTarget)
        #expect(erased.acceptedStatuses == own.acceptedStatuses && erased.valuePath == own.valuePath)
        #expect(erased.envelope == own.envelope && erased.emptyContent == own.emptyContent)
        #expect(erased.maximumBodyBytes == 7 && erased.timeout == own.timeout && erased.retry != nil)
        #expect(erased.redirects == own.redirects)
        #expect(erased.sampleResponse == own.sampleResponse)
        #expect("\(erased.strategy)" == "\(own.strategy)")
        let request = try erased.request(environment: environment, defaults: .init())
        #expect(request.head == (try own.request(environment: environment, defaults: .init()).head))
    }

    @Test func oneListServesManyEnums() throws {
        let endpoints = [AnyEndpoint(Weather.today), AnyEndpoint(AnyEndpoint(Particular()))]
        #expect(endpoints.map(\.path) == ["/today", "/x"])
        #expect(endpoints.map { "\(type(of: $0.base))" } == ["Weather", "Particular"])
    }

    @Test func errorsNameTheWrappedEndpoint() {
        let error = #expect(throws: HoldfastError.self) { try AnyEndpoint(Weather.today).request(defaults: .init()) }
        #expect(error?.message.contains("'Weather'") == true)
    }
}
