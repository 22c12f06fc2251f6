import Holdfast

struct Feed: Decodable, Sendable {
    struct Moment: Decodable, Sendable { let id: String, likes: Int }
    let moments: [Moment]
}

struct GetFeed: Endpoint {
    typealias Response = Feed
    let baseURL: String
    let path = "/moments"
    let task = HTTPTask.query(["userID": "harbour", "page": 1])
}

let origin = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080"
let client = try await CachingClient.open(store: "feed.store")
for try await emission in client.startWith(GetFeed(baseURL: origin), ifNetworkFails: .endingQuietly) {
    print(emission.source, emission.value.moments.count, "moments", emission.isStale ? "stale" : "fresh", emission.age)
}
try await client.close()
