import Holdfast

struct Feed: Decodable, Sendable {
    struct Moment: Decodable, Sendable { let id: String, likes: Int }
    let moments: [Moment]
}

let origin = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080"
let client = try await CachingClient.open(store: "feed.store")
let feed = AdHocRequest<Feed>("\(origin)/moments", query: ["userID": "harbour", "page": 1])
for try await emission in client.startWith(feed, ifNetworkFails: .endingQuietly) {
    print(emission.source, emission.value.moments.count, "moments", emission.isStale ? "stale" : "fresh", emission.age)
}
try await client.close()
