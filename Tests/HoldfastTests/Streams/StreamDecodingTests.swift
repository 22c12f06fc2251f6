import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// A type that is named after the request: `endpoint.request().map(User.self)`.
@Suite(.timeLimit(.minutes(20))) struct StreamDecodingTests {
    private struct User: Codable, Sendable, Equatable { var name: String }

    private enum API: Endpoint {
        case user
        var baseURL: String { ScriptedClient.url }
        var path: String { "/user" }
    }

    private static let content = #"{"code":0,"data":{"name":"Ada","boss":{"name":"Grace"}}}"#

    private static let configuration = CachingClient.Configuration(envelope: Envelope())

    @Test func typeMayBeNamedAfterTheRequest() async throws {
        try await ScriptedClient.run(Self.configuration) { fixture in
            fixture.script("/user", .fresh(Self.content), .fresh(Self.content))
            let user = await API.user.on(fixture.client).request().map(User.self).collected()
            #expect(user.emissions.map(\.value) == [User(name: "Ada")])
            let boss = await API.user.on(fixture.client).request().map(User.self, at: "boss").collected()
            #expect(boss.emissions.map(\.value) == [User(name: "Grace")])
        }
    }

    /// The call's envelope applies as if the type had been named before the request.
    @Test func failedEnvelopeIsNotStored() async throws {
        try await ScriptedClient.run(Self.configuration) { fixture in
            fixture.script("/user", .fresh(Self.content), .fresh(#"{"code":7,"msg":"no"}"#), .failure(.connect))
            let call = API.user.on(fixture.client).cache
            _ = await call.request().map(User.self).collected()
            let failed = await call.request().map(User.self).collected()
            #expect(failed.failure == .envelope && failed.emissions.map(\.value.name) == ["Ada"])
            let offline = await call.request().map(User.self).collected()
            #expect(offline.emissions.map(\.value.name) == ["Ada"])
        }
    }

    @Test func onCacheClosureGetsTheBytes() async throws {
        try await ScriptedClient.run(Self.configuration) { fixture in
            fixture.script("/user", .fresh(Self.content), .fresh(Self.content))
            _ = try await fixture.client.fetch(API.user)
            let events = Events()
            let request = fixture.client.onCache(API.user) { events.append("\($0.value.count)") }.request()
            for try await emission in request.map(User.self) { events.append(emission.value.name) }
            #expect(events.all == ["\(Self.content.utf8.count)", "Ada"])
            let late = fixture.client.onCache(API.user) { _ in }.request()
            fixture.script("/user", .fresh(Self.content))
            let boss = await late.map(User.self, at: "boss").collected()
            #expect(boss.emissions.map(\.value.name) == ["Grace"])
        }
    }

    @Test func emissionsMadeByHandAreDecoded() async throws {
        let made = EmissionStream([Emission(value: Data(#"{"name":"Ada"}"#.utf8))])
        #expect(await made.map(User.self).collected().emissions.map(\.value.name) == ["Ada"])
        let broken = EmissionStream([Emission(value: Data("<html>".utf8))])
        #expect(await broken.map(User.self).collected().failure == .decodingFailed)
    }

    @Test func onCacheAtTheEndpointTakesAPath() async throws {
        try await ScriptedClient.run(Self.configuration) { fixture in
            fixture.script("/user", .fresh(Self.content), .fresh(Self.content))
            _ = try await fixture.client.fetch(API.user)
            let events = Events()
            let request = API.user.onCache(User.self, at: "boss") { events.append($0.value.name) }
            for try await emission in request.on(fixture.client).request() { events.append(emission.value.name) }
            #expect(events.all == ["Grace", "Grace"])
        }
    }
}
