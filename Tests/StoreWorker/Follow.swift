import Foundation
import Holdfast

/// A process that follows a store which another process writes.
///
/// It writes a line `open`. With a URL, it writes `value TEXT` for each value of a stream that
/// follows the store. Without one, it writes `change KIND OBJECT` for each change, with the value
/// of the object `n` at that time. With `object` in place of a URL, it writes `object VALUE` for
/// each value of the object `n`. It ends after the given number of values, or when the object has
/// that number.
struct Follow {
    private struct Page: Endpoint {
        typealias Response = String
        let baseURL: String
        let path = ""
    }

    private struct NoNetwork: Transport {
        func send(_ request: TransportRequest) async throws -> TransportResponse {
            throw TransportError(code: .connect, message: "This process has no network.")
        }
    }

    let folder: String
    /// The URL to follow, or `object`; `nil` follows all changes without a client.
    let url: String?
    let count: Int

    init?(_ words: [String]) {
        guard words.count == 4, let count = Int(words[3]) else { return nil }
        folder = words[1]
        url = words[2] == "-" ? nil : words[2]
        self.count = count
    }

    func run() async {
        do {
            var configuration = CacheManager.Configuration()
            configuration.changeInterval = .milliseconds(20)
            let store = try await CacheManager.openReadOnly(at: folder, configuration: configuration)
            switch url {
            case nil: try await watch(store)
            case "object": try await observe(store)
            case let url?: try await follow(url, store)
            }
            try await store.close()
        } catch {
            Line.write("wrong \(error)")
        }
    }

    private func watch(_ store: CacheManager) async throws {
        let changes = store.changes(of: .all)
        Line.write("open")
        for await change in changes {
            let value = try await store.object(Int.self, forKey: "n")
            Line.write("change \(change.kind.rawValue) \(value.map(String.init) ?? "none")")
            if value == count { return }
        }
    }

    private func observe(_ store: CacheManager) async throws {
        Line.write("open")
        for try await stored in store.changes(ofObject: "n", as: Int.self) {
            Line.write("object \(stored.map { "\($0.value)" } ?? "none")")
            if stored?.value == count { return }
        }
    }

    private func follow(_ url: String, _ store: CacheManager) async throws {
        let client = CachingClient(store: store, transport: NoNetwork())
        client.mode = .offline
        let call = client.call(Page(baseURL: url)).with { $0.followsStore = true }
        Line.write("open")
        var left = count
        for try await emission in call.request() {
            Line.write("value \(emission.value)")
            left -= 1
            if left == 0 { break }
        }
        try await client.close()
    }
}
