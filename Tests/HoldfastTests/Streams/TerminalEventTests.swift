import Foundation
import Holdfast
import HoldfastTesting
import NIOCore
import SampleOrigin
import Testing

/// How requests end when events coincide, and when the network breaks in the middle of a body.
@Suite(.timeLimit(.minutes(20))) struct TerminalEventTests {
    private static let noStore: HTTPFields = [.cacheControl: "no-store"]

    // Whichever event comes first, there is at most one end, and nothing after it or after
    // `finished()`.
    @Test(arguments: [false, true]) func raceOfCancelAndFinishEndsAtMostOnce(fails: Bool) async throws {
        try await ScriptedClient.run { fixture in
            for round in 0..<100 {
                let (gate, events) = (HoldfastTesting.Gate(), Events())
                var reply: ScriptedTransport.Reply = fails ? .status(.notFound) : .ok("1", fields: Self.noStore)
                reply.beforeHead = gate
                fixture.script("/\(round)", reply)
                let subscription = fixture.get("/\(round)").on(fixture.client).request().subscribe(
                    onNext: { _ in events.append("next") },
                    onError: { _ in events.append("error") },
                    onCompleted: { events.append("completed") }
                )
                await fixture.transport.waitForRequests(round + 1)
                let opening = Task { @concurrent in
                    for _ in 0..<(round % 7) { await Task.yield() }
                    gate.open()
                }
                let cancelling = Task { @concurrent in
                    for _ in 0..<(round % 13) { await Task.yield() }
                    subscription.cancel()
                }
                _ = await (opening.value, cancelling.value)
                await subscription.finished()
                let seen = events.all
                subscription.cancel()
                #expect([[], ["next"], ["next", "completed"], ["error"]].contains(seen), "\(seen)")
                #expect(events.all == seen)
            }
        }
    }

    // A callback that cancels its subscription is the last one.
    @Test func cancellingInACallbackEndsCallbacks() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), .fresh("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            let (events, gate) = (Events(), HoldfastTesting.Gate())
            let holder = Kept<StreamSubscription>()
            let subscription = fixture.client.startWith(fixture.get("/x")).subscribe(
                on: CallbackExecutor { work in
                    Task {
                        try? await gate.wait()
                        work()
                    }
                },
                onNext: { _ in
                    events.append("next")
                    holder.value?.cancel()
                },
                onError: { _ in events.append("error") },
                onCompleted: { events.append("completed") }
            )
            holder.value = subscription
            gate.open()
            await subscription.finished()
            #expect(events.all == ["next"])
            await fixture.transport.waitForRequests(1)
        }
    }

    private func cut(_ content: String) -> ScriptedTransport.Reply {
        ScriptedTransport.Reply(
            head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60", .contentLength: "100"]),
            chunks: [ByteBuffer(string: content)],
            ending: .brokenOff(TransportError(code: .connectionClosed, message: "cut"))
        )
    }

    // The network breaks in the middle of the body. Each strategy treats this as an unreachable
    // origin, and the stored response stays.
    @Test(
        arguments: [
            (SingleValueStrategy.standard, "1", nil), (.storedFirst, "1", nil), (.staleWhileRevalidate, "1", nil),
            (.networkFirst, "1", nil), (.networkFirst(timeout: .seconds(5)), "1", nil), (.networkOnly, nil, .truncated),
        ] as [(SingleValueStrategy, String?, HoldfastError.Code?)]
    )
    func cutBodyIsHandledByEachStrategy(strategy: SingleValueStrategy, value: String?, code: HoldfastError.Code?)
        async throws
    {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh("1"), cut("2"))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            fixture.clock.advance(by: .seconds(61))
            let error = await failure {
                let emission = try await fixture.client.fetch(fixture.get("/x"), strategy)
                #expect(emission.value == value && emission.source == .store && emission.isStale)
            }
            #expect(error?.code == code)
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            #expect(try await fixture.client.stored(fixture.get("/x"))?.value == "1")
        }
    }

    // A stream of two values emits the stored one and then the failure; without a stored value it
    // only fails.
    @Test func cutBodyEndsAStreamWithAFailure() async throws {
        try await ClientFixture.run { fixture in
            var request = AnyRequest<Data>(
                baseURL: fixture.origin.baseURL,
                path: "/bytes/200000?key=a&cut=70000&times=1"
            )
            let none = await fixture.client.startWith(request).collected()
            #expect(none.emissions.isEmpty && none.failure == .truncated)
            #expect(try await fixture.client.fetch(request).value.count == 200_000)
            fixture.origin.force(.respond(fields: [("Cache-Control", "max-age=60")], body: "good"))
            request.path = "/x"
            _ = try await fixture.client.fetch(request)
            fixture.origin.force(.truncate(after: 10), path: "/x")
            let both = await fixture.client.startWith(request).collected()
            #expect(both.emissions.map(\.value) == [Data("good".utf8)] && both.failure != nil)
            let kept = try await fixture.client.stored(request)
            #expect(kept?.value == Data("good".utf8))
        }
    }

    // Each mutation is a request of its own, whatever else is under way.
    @Test(arguments: [HTTPRequest.Method.post, .put, .delete, .patch])
    func mutationsAreNotJoined(method: HTTPRequest.Method) async throws {
        try await ScriptedClient.run { fixture in
            let gate = HoldfastTesting.Gate()
            for value in ["1", "2"] {
                fixture.script("/x", .ok(value, fields: [.cacheControl: "max-age=60"], beforeHead: gate))
            }
            let request = AnyRequest<String>(baseURL: ScriptedClient.url, path: "/x", method: method)
            async let first = fixture.client.fetch(request).value
            async let second = fixture.client.fetch(request).value
            await fixture.transport.waitForRequests(2)
            gate.open()
            let both = try await [first, second]
            #expect(Set(both) == ["1", "2"])
        }
    }

    // The same holds for a GraphQL mutation, whatever its endpoint's storage setting.
    @Test func graphQLMutationsAreNotJoinedOrStored() async throws {
        try await ScriptedClient.run { fixture in
            let gate = HoldfastTesting.Gate()
            for value in ["1", "2", "3"] {
                fixture.script(
                    "/graphql",
                    .ok(#"{"data":{"like":\#(value)}}"#, fields: [.cacheControl: "max-age=60"], beforeHead: gate)
                )
            }
            let request = AnyRequest<Int>(
                baseURL: ScriptedClient.url,
                path: "/graphql",
                method: .post,
                task: .graphQL(GraphQLOperation("mutation { like }")),
                storage: .expiring(.after(.seconds(60))),
                valuePath: "data.like"
            )
            async let first = fixture.client.fetch(request).value
            async let second = fixture.client.fetch(request).value
            await fixture.transport.waitForRequests(2)
            gate.open()
            let both = try await [first, second]
            #expect(Set(both) == [1, 2])
            #expect(try await fixture.client.fetch(request).value == 3)
        }
    }

    // A value that was stored as another type is a miss for this one. The network is asked, and the
    // stored value stays for callers that can read it.
    @Test(arguments: [SingleValueStrategy.standard, .storedFirst, .staleWhileRevalidate])
    func storedValueOfAnotherTypeIsAMiss(strategy: SingleValueStrategy) async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/x", .fresh(#"["a"]"#), .fresh(#"[1]"#))
            let call = fixture.client.call(fixture.get("/x"))
            _ = try await call.map([String].self).fetch()
            #expect(try await call.map([Int].self).stored() == nil)
            #expect(try await call.map([Int].self).fetch(strategy).value == [1])
            #expect(fixture.transport.requests.count == 2)
        }
    }
}
