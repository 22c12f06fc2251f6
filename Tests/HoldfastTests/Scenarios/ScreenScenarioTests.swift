import Foundation
import Holdfast
import HoldfastTesting
import Synchronization
import Testing

/// Screens that come and go: lists with pages, subscriptions and observed objects.
@Suite(.timeLimit(.minutes(20))) struct ScreenScenarioTests {
    /// The screens that exist.
    private final class Census: Sendable {
        private let number = Mutex(0)
        var count: Int { number.withLock { $0 } }
        func change(by step: Int) { number.withLock { $0 += step } }
    }

    /// A list that loads its pages, shows the stored one first, and observes a draft.
    private final class ListScreen: Sendable {
        private struct State {
            var pages: [Int: String] = [:]
            var drafts: [String] = []
            var next = 2
            var observing: Task<Void, Never>?
        }

        private let client: CachingClient
        private let census: Census
        private let subscriptions = SubscriptionBag()
        private let state = Mutex(State())

        var items: [String] { state.withLock { $0.pages.sorted { $0.key < $1.key }.map(\.value) } }
        var drafts: [String] { state.withLock { $0.drafts } }

        init(_ client: CachingClient, _ census: Census) {
            (self.client, self.census) = (client, census)
            census.change(by: 1)
        }

        deinit {
            state.withLock { $0.observing }?.cancel()
            census.change(by: -1)
        }

        private func page(_ number: Int) -> Call<String> {
            client.call(AnyRequest<String>(baseURL: ScriptedClient.url, path: "/items?page=\(number)"))
        }

        func open() {
            page(1).with { $0.followsStore = true }.request().subscribe(owner: self) { screen, page in
                screen.state.withLock { $0.pages[1] = page.value }
            }.store(in: subscriptions)
        }

        func loadMore() {
            let number = state.withLock { state in
                defer { state.next += 1 }
                return state.next
            }
            page(number).request().subscribe(owner: self) { screen, page in
                screen.state.withLock { $0.pages[number] = page.value }
            }.store(in: subscriptions)
        }

        func observeDraft() {
            let drafts = client.store.changes(ofObject: "draft", as: String.self)
            let observing = Task { [weak self] in
                do {
                    for try await draft in drafts { self?.state.withLock { $0.drafts.append(draft?.value ?? "none") } }
                } catch {}
            }
            state.withLock { $0.observing = observing }
        }
    }

    @Test func listGrowsAndFollowsTheStore() async throws {
        try await ScriptedClient.run { fixture async throws in
            let census = Census()
            fixture.script("/items?page=1", .fresh("1"), .fresh("1 changed"))
            fixture.script("/items?page=2", .fresh("2"))
            var screen: ListScreen? = ListScreen(fixture.client, census)
            screen?.open()
            while screen?.items != ["1"], !Task.isCancelled { await Task.yield() }
            screen?.loadMore()
            while screen?.items != ["1", "2"], !Task.isCancelled { await Task.yield() }
            screen?.observeDraft()
            while screen?.drafts != ["none"], !Task.isCancelled { await Task.yield() }
            try await fixture.store.setObject("Dear Bob", forKey: "draft")
            let first = AnyRequest<String>(baseURL: ScriptedClient.url, path: "/items?page=1")
            _ = try await fixture.client.fetch(first, .networkOnly)
            while screen?.items != ["1 changed", "2"] || screen?.drafts != ["none", "Dear Bob"], !Task.isCancelled {
                await Task.yield()
            }
            screen = nil
            while census.count > 0, !Task.isCancelled { await Task.yield() }
            // The next launch shows both pages without a network.
            fixture.client.mode = .offline
            let next = ListScreen(fixture.client, census)
            next.open()
            while next.items != ["1 changed"], !Task.isCancelled { await Task.yield() }
            next.loadMore()
            while next.items != ["1 changed", "2"], !Task.isCancelled { await Task.yield() }
        }
    }

    enum Moment: CaseIterable { case beforeTheResponse, inTheContent, afterTheResponse }

    /// A thousand screens are opened and closed, each with two pages and an observed object.
    @Test(arguments: Moment.allCases) func thousandScreensLeaveNothing(moment: Moment) async throws {
        try await ScriptedClient.run { fixture async throws in
            let (census, gate) = (Census(), Gate())
            let length: HTTPFields = [.contentLength: "1", .cacheControl: "max-age=60"]
            for page in 1...2 {
                switch moment {
                case .beforeTheResponse: fixture.always("/items?page=\(page)", .ok("1", beforeHead: gate))
                case .inTheContent: fixture.always("/items?page=\(page)", .ok("1", fields: length, beforeEnd: gate))
                case .afterTheResponse: fixture.always("/items?page=\(page)", .fresh("1"))
                }
            }
            for _ in 0..<10 {
                var screens = (0..<100).map { _ in ListScreen(fixture.client, census) }
                for screen in screens {
                    screen.open()
                    screen.loadMore()
                    screen.observeDraft()
                }
                if moment == .afterTheResponse {
                    while screens.last?.items.count != 2, !Task.isCancelled { await Task.yield() }
                }
                while screens.contains(where: { $0.drafts.isEmpty }), !Task.isCancelled { await Task.yield() }
                #expect(census.count == 100)
                screens = []
                while census.count > 0, !Task.isCancelled { await Task.yield() }
            }
            gate.open()
            while fixture.client.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            // The store still serves a new screen.
            let screen = ListScreen(fixture.client, census)
            screen.observeDraft()
            try await fixture.store.setObject("Dear Bob", forKey: "draft")
            while screen.drafts.last != "Dear Bob", !Task.isCancelled { await Task.yield() }
        }
    }

    /// A screen that is closed while its callback runs gets no further callback.
    @Test func closedScreenGetsNoFurtherCallback() async throws {
        final class Screen: Sendable {
            let events: Events
            let closing: Gate
            init(_ events: Events, _ closing: Gate) { (self.events, self.closing) = (events, closing) }
            deinit { events.append("closed") }
        }
        try await ScriptedClient.run { fixture async throws in
            let (events, isCalled, closing, network) = (Events(), Gate(), Gate(), Gate())
            fixture.script("/x", .fresh("1"), .ok("2", beforeHead: network))
            _ = try await fixture.client.fetch(fixture.get("/x"))
            var screen: Screen? = Screen(events, closing)
            let subscription = fixture.client.startWith(fixture.get("/x")).subscribe(owner: try #require(screen)) {
                screen,
                emission in
                events.append(emission.value)
                isCalled.open()
                try? await screen.closing.wait()
            } onError: { _, error in
                events.append("\(error.code)")
            } onCompleted: { _ in
                events.append("completed")
            }
            try await isCalled.wait()
            screen = nil
            network.open()
            closing.open()
            await subscription.finished()
            while events.all.last != "closed", !Task.isCancelled { await Task.yield() }
            #expect(events.all == ["1", "closed"])
        }
    }
}
