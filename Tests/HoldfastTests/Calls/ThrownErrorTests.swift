import Holdfast
import HoldfastTesting
import Testing

/// Errors of calls of one value. `code(of:_:)` compiles only if the compiler knows their type.
@Suite(.timeLimit(.minutes(20))) struct ThrownErrorTests {
    private struct Own: Error, Equatable { let number: Int }

    private static func code(of endpoint: PathEndpoint, _ client: CachingClient) async -> HoldfastError.Code? {
        do {
            _ = try await client.fetch(endpoint)
            return nil
        } catch {
            return error.code
        }
    }

    private func run(_ body: (CachingClient, PathEndpoint, ScriptedTransport) async throws -> Void) async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            defer { gate.open() }
            fixture.script("/x", .ok("1", beforeHead: gate))
            try await body(fixture.client, fixture.get("/x"), fixture.transport)
        }
    }

    @Test func cancelledChildOfAGroupGetsTheCode() async throws {
        try await run { client, endpoint, transport in
            let code = await withTaskGroup(of: HoldfastError.Code?.self) { group in
                group.addTask { await Self.code(of: endpoint, client) }
                await transport.waitForRequests(1)
                group.cancelAll()
                return await group.next() ?? nil
            }
            #expect(code == .cancelled)
        }
    }

    @Test func asyncLetOfACancelledTaskGetsTheCode() async throws {
        try await run { client, endpoint, transport in
            let task = Task {
                async let code = Self.code(of: endpoint, client)
                return await code
            }
            await transport.waitForRequests(1)
            task.cancel()
            #expect(await task.value == .cancelled)
        }
    }

    @Test func cancellationIsTheCause() async throws {
        try await run { client, endpoint, transport in
            let task = Task { try await client.fetch(endpoint).value }
            await transport.waitForRequests(1)
            task.cancel()
            let error = await #expect(throws: HoldfastError.self) { try await task.value }
            #expect(error?.cause is CancellationError)
        }
    }

    @Test func canceledCallNamesItsURLWithoutSecrets() async throws {
        let gate = Gate()
        try await ScriptedClient.run { fixture in
            defer { gate.open() }
            fixture.script("/x?pin_code=4711&q=tide", .ok("1", beforeHead: gate))
            var request = AdHocRequest<String>(
                ScriptedClient.url + "/x",
                query: ["q": "tide", "pin_code": "4711"]
            )
            request.secrets = Secrets(parameters: ["pin_code"])
            let task = Task { [client = fixture.client, request] in try await client.fetch(request).value }
            await fixture.transport.waitForRequests(1)
            task.cancel()
            let error = await #expect(throws: HoldfastError.self) { try await task.value }
            let message = error?.message ?? ""
            #expect(message.contains("'\(ScriptedClient.url)/x?") && message.contains("q=tide"))
            #expect(!message.contains("4711") && message.hasSuffix("was canceled."))
        }
    }

    @Test func ownErrorOfAClosureIsTheCause() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("1"))
            let call = fixture.client.call(fixture.get("/x")).map { _ -> Int in throw Own(number: 7) }
            let error = await #expect(throws: HoldfastError.self) { try await call.fetch() }
            #expect(error?.code == .dataFormat && error?.cause as? Own == Own(number: 7))
        }
    }

    @Test func ownHoldfastErrorOfAClosureIsUnchanged() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .ok("1"))
            let call = fixture.client.call(fixture.get("/x")).map { _ -> Int in
                throw HoldfastError(code: .init("sold-out"), message: "Nothing is left.")
            }
            do throws(HoldfastError) {
                _ = try await call.fetch()
                Issue.record("Nothing was thrown.")
            } catch let error where error.code == .init("sold-out") {
            } catch {
                Issue.record(error)
            }
        }
    }
}
