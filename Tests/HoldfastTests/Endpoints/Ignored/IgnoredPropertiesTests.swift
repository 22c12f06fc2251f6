import Foundation
import HoldfastTesting
import TestSupport
import Testing

@testable import Holdfast

/// Stored properties of endpoints that compile and are ignored.
@Suite(.timeLimit(.minutes(20))) struct IgnoredPropertiesTests {
    private static let url = "https://a.example/x"

    /// Each requirement but the path and the base URL, with a type that does not fit.
    private struct OtherTypes: Endpoint {
        var baseURL: String { "https://a.example" }
        let path = "/x"
        let method = "GET"
        let task = RequestParameters()
        let headers: [String: String]? = nil
        let principal = UUID()
        let secrets: [String] = []
        let isMutation: Bool? = nil
        let isIdempotent = 1
        let storage = true
        let rule: [RuleSettings] = []
        let offlineReads = true
        let tags: Set<String> = []
        let strategy = "storedFirst"
        let invalidates = StoreInvalidation.tag("x")
        let invalidatesTarget = "x"
        let acceptedStatuses = 200...299
        let valuePath = "data"
        let envelope: EnvelopeChoice? = nil
        let emptyContent = "{}"
        let maximumBodyBytes: Int64 = 7
        let timeout = 5.0
        let retry = 3
        let redirects = true
        let sampleResponse = Data()
    }

    /// Each requirement but the path, under another name.
    private struct OtherNames: Endpoint {
        let path = "https://a.example/x"
        let baseUrl = "https://a.example"
        let methd = HTTPRequest.Method.get
        let parameters = ["page": 1]
        let header = ["x-app-platform": "iOS"]
        let principle = "ada"
        let secret = Secrets()
        let isMutating = true
        let isIdempotant = true
        let storages = CacheRequest.Storage.byResponse
        let rules = RuleSettings()
        let offlineRead = OfflineReads.asAllowed
        let tag = ["x"]
        let stratgy = SingleValueStrategy.standard
        let invalidate: [StoreInvalidation] = []
        let invalidateTarget = true
        let acceptedStatusCodes = 200...299
        let valuepath = ValuePath()
        let envelop = EnvelopeChoice.none
        let emptyContents = EmptyContent.missing
        let maxBodyBytes = 7
        let timeOut = 5
        let retries = 3
        let followRedirects = true
        let sampleData = Data()
    }

    /// Its own data, with the same names, and every requirement that they feed.
    private struct OwnData: Endpoint {
        var baseUrl = "https://a.example"
        let path = "/x"
        let header = ["x-app-platform": "iOS"]
        let parameters = ["page": 1]
        let principalID: String? = "ada"
        let tag = "x"
        let query = "x"
        let seconds = 5
        var baseURL: String { baseUrl }
        var headers: [String: String] { header }
        var task: HTTPTask { .query(["page": 1]) }
        var principal: String? { principalID }
    }

    /// Values that equal the defaults.
    private struct Defaults: Endpoint {
        let baseURL = ""
        let path = "/x"
        let method = HTTPRequest.Method.get
        let principal: String? = nil
        let tags: [String] = []
        let isMutation = false
        let storage = CacheRequest.Storage.byResponse
    }

    private enum OwnCases: Endpoint {
        case principal(UUID), header([String: String])
        var path: String { "/x" }
    }

    private struct Unwrapped: Endpoint {
        let path = "/x"
        // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
        var principal: String!
    }

    private struct Lazy: Endpoint {
        let path = "/x"
        lazy var principal: String? = "ada"
    }

    private final class Inherited: Base, Endpoint, @unchecked Sendable {
        let path = "/x"
    }

    private class Base {
        let timeout = 5
    }

    private struct Wrapped: Endpoint {
        let path = "/x"
        @Own var principal = "ada"
    }

    @propertyWrapper private struct Own: Sendable {
        var wrappedValue: String
    }

    private func names(_ endpoint: any Endpoint) -> [String] { IgnoredProperty.all(of: endpoint).map(\.property) }

    @Test func tableHasEachRequirement() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../../Sources/Holdfast")
        let text = try String(contentsOf: sources.appending(path: "Endpoints/Endpoint.swift"), encoding: .utf8)
        let names = text.matches(of: /\n    var (\w+): .* \{ get \}/).map { String($0.1) }.filter { $0 != "path" }
        #expect(names.count > 20 && names == EndpointRequirement.all.map(\.name))
        #expect(Set(names) == Set(OwnData().typesOfRequirements.keys))
    }

    @Test func propertyWithAnotherTypeIsFoundForEachRequirement() {
        let expected = EndpointRequirement.all.map(\.name).filter { $0 != "baseURL" }
        #expect(names(OtherTypes()) == expected)
        #expect(IgnoredProperty.all(of: OtherTypes()).allSatisfy { $0.endpoint == "OtherTypes" })
    }

    @Test func propertyWithAnotherNameIsFoundForEachRequirement() {
        let found = IgnoredProperty.all(of: OtherNames())
        #expect(found.count == EndpointRequirement.all.count && names(OtherNames()).first == "baseUrl")
        for (ignored, requirement) in zip(found, EndpointRequirement.all) {
            #expect(ignored.explanation.contains("'\(requirement.name)' of type"))
        }
    }

    /// Mutants: requirements that have their defaults are not considered; any value, not only an
    /// optional's, is an implicitly unwrapped optional.
    @Test(
        arguments: [OwnData(), Defaults(), OwnCases.principal(UUID()), OwnCases.header([:]), Wrapped()]
            as [any Endpoint]
    )
    func ownDataIsNotReported(endpoint: any Endpoint) {
        #expect(names(endpoint) == [])
    }

    @Test func explanationStatesWhatToWrite() {
        let found = IgnoredProperty.all(of: Unwrapped(principal: "ada"))
        #expect(
            found.map(\.explanation) == [
                "'principal' is ignored, because its type is 'String!'. 'Endpoint' expects "
                    + "'String' or 'String?'. If the property is something else, rename it."
            ]
        )
        #expect(names(Lazy()) == ["principal"] && names(Inherited()) == ["timeout"])
    }

    /// Mutants: the check at each call; no check of a wrapped endpoint.
    @Test func thirtyCallsOfOneTypeAreLoggedOnce() async throws {
        let log = CapturedLog()
        let error = await #expect(throws: IgnoredProperties.self) {
            try await withTestClient(logger: log.logger(.warning)) { test in
                test.transport.script(Self.url, repeating: .ok("one"))
                let client = test.client
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<30 {
                        group.addTask {
                            let endpoint: any Endpoint = number.isMultiple(of: 2) ? Late() : AnyEndpoint(Late())
                            _ = try await client.fetch(AnyEndpoint(endpoint))
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
        #expect(error?.properties == ["Late.timeout"])
        #expect(log.lines.filter { $0.contains("Property of an endpoint is ignored") }.count == 1)
        #expect(log.text.contains("endpoint=Late property=timeout"))
    }

    private struct Late: Endpoint {
        let baseURL = "https://a.example"
        let path = "/x"
        let timeout = 5
    }

    @Test func errorOfTheBodyPrecedesIgnoredProperties() async {
        await expect(.originUnreachable) {
            try await withTestClient { test in
                test.transport.isReachable = false
                _ = try await test.client.fetch(Late())
            }
        }
    }

    /// However many other types are checked in between.
    @Test func eachTypeIsCheckedOnce() {
        let checked = CheckedEndpoints()
        #expect(checked.check(Late()).count == 1)
        var endpoint: any Endpoint = Late()
        for _ in 0..<300 {
            endpoint = nested(endpoint)
            #expect(checked.check(endpoint).isEmpty)
        }
        #expect(checked.check(Late()).isEmpty && checked.found.count == 1)
    }

    private struct Nested<Base: Endpoint>: Endpoint {
        let base: Base
        let path = "/x"
    }

    private func nested(_ base: some Endpoint) -> any Endpoint { Nested(base: base) }
}
