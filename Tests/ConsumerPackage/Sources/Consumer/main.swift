import Foundation
import Holdfast

// swift run sample-origin --port 8081    # In a second terminal:
// swift run --package-path Tests/ConsumerPackage Consumer http://127.0.0.1:8081
//
// 'open' stands outside the 'do'. If it throws, for example because another process writes the
// folder (`inUse`), the program ends with Swift's message for an uncaught error.

struct Feed: Decodable, Sendable { let moments: [Moment] }
struct Moment: Decodable, Sendable { let id: String, likes: Int }

guard let origin = CommandLine.arguments.dropFirst().first else {
    print("Name the origin, such as http://127.0.0.1:8081. 'sample-origin' is one.")
    exit(64)
}
let client = try await CachingClient.open(store: "feed.store")
let feed = AdHocRequest<Feed>("\(origin)/moments", query: ["userID": "harbour", "page": 1])
var status: Int32 = 0
do {
    for _ in 1...2 {  // First from the network, then from the store.
        let it = try await client.fetch(feed)
        print(it.source, it.value.moments.count, "moments", it.isStale ? "stale" : "fresh", it.age)
    }
} catch {
    print("There is no feed: \(error)")
    status = 1
}
try await client.close()
exit(status)
