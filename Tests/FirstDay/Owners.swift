import Foundation
import Holdfast

private struct Feed: Endpoint { let path = "/x" }

@MainActor private final class Screen {
    private var subscription: StreamSubscription?
    private var text = ""

    func open(_ client: CachingClient) {
        subscription = client.startWith(Feed()).subscribeOnMainActor(owner: self) { screen, emission in
            screen.text = "\(emission.value.count)"
        } onError: { screen, error in
            screen.text = error.localizedDescription
        }
        client.startWith(Feed()).subscribeOnMainActor(owner: self) { _, _ in }  // says: is unused
    }
}

private actor Counter {
    private var subscription: StreamSubscription?
    private var count = 0

    func open(_ client: CachingClient) {
        subscription = client.startWith(Feed()).subscribe(owner: self) { counter, _ in await counter.add() }
    }

    private func add() { count += 1 }
}

private final class Plain {
    private var count = 0

    func open(_ client: CachingClient) -> StreamSubscription {
        client.startWith(Feed()).subscribe(owner: self) { plain, _ in plain.count += 1 }  // says: Sendable
    }
}
