import Foundation
import Holdfast

private struct Feed: Endpoint { let path = "/x" }

private actor Screen {
    var count = 0
    func show(_ client: CachingClient) {
        _ = client.startWith(Feed()).subscribe { _ in self.count += 1 }  // says: from a Sendable closure
    }
}

private func save(_ data: Data) async {}
private func write(_ data: Data) throws {}

private func callbacks(_ client: CachingClient) {
    _ = client.startWith(Feed()).subscribe { await save($0.value) }
    _ = client.startWith(Feed()).subscribe { try write($0.value) }  // says: invalid conversion from throwing function
    client.startWith(Feed()).subscribe { _ in }  // says: is unused
}

private func iterate(_ client: CachingClient) async {
    for await _ in client.startWith(Feed()) {}  // says: not handled
}
