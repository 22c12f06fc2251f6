import Foundation
import SampleOrigin
import Testing

/// The feed as REST.
@Suite(.timeLimit(.minutes(20)))
struct FeedTests {
    private let feed = "/moments?userID=harbour"

    @Test func sameRequestHasSameBytesAndTagInEveryOrigin() async throws {
        let first = try await SampleOrigin.withOrigin { try await RawClient.get(feed, to: $0) }
        let second = try await SampleOrigin.withOrigin { try await RawClient.get(feed, to: $0) }
        #expect(first.status == 200)
        #expect(first["Content-Type"] == "application/json")
        #expect(first.body == second.body)
        #expect(first["ETag"] != nil)
        #expect(first["ETag"] == second["ETag"])
        #expect(first["Last-Modified"] == "Thu, 01 Jan 2026 00:00:00 GMT")
    }

    @Test func hasTheModelOfTheAncestors() async throws {
        struct Details: Decodable {
            struct User: Decodable { let id, name, avatar, backgroundImage: String }
            struct Author: Decodable { let name, avatar: String }
            struct Moment: Decodable {
                let id: String
                let userDetails: Author
                let type: String
                let title, url: String?
                let photos: [String]
                let createdDate: Date
                let isLiked: Bool?
                let likes: Int
            }
            let userDetails: User
            let moments: [Moment]
        }
        let response = try await SampleOrigin.withOrigin { try await RawClient.get(feed, to: $0) }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let details = try decoder.decode(Details.self, from: Data(response.body))
        #expect(details.userDetails.id == "harbour")
        #expect(details.moments.count == 10)
        #expect(Set(details.moments.map(\.type)) == ["URL", "PHOTOS"])
        #expect(details.moments.contains { $0.title == nil })
        #expect(details.moments.allSatisfy { ($0.type == "URL") == ($0.url != nil) })
        #expect(details.moments.allSatisfy { ($0.type == "PHOTOS") == !$0.photos.isEmpty })
    }

    @Test func likeChangesFeedTagAndDate() async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get(feed, to: origin)
            let like = try await RawClient.send("POST", "/moments/harbour-25/likes", to: origin)
            let after = try await RawClient.get(feed, to: origin)
            #expect(like.status == 200)
            #expect(like["Content-Location"] == "/moments/harbour-25")
            #expect(before["ETag"] != after["ETag"])
            #expect(after["Last-Modified"] == "Thu, 01 Jan 2026 00:00:01 GMT")
            #expect(after.text.contains(#""isLiked":true"#))

            _ = try await RawClient.send("DELETE", "/moments/harbour-25/likes", to: origin)
            let undone = try await RawClient.get(feed, to: origin)
            #expect(undone["ETag"] == before["ETag"])
        }
    }

    @Test(arguments: ["PUT", "POST"])
    func repeatedLikeAsStateChangesNothing(method: String) async throws {
        try await SampleOrigin.withOrigin { origin in
            let before = try await RawClient.get("/moments/tides-2", to: origin)
            #expect(before.text.contains(#""isLiked":false"#))
            let once = try await RawClient.send(method, "/moments/tides-2/like", to: origin)
            let twice = try await RawClient.send(method, "/moments/tides-2/like", to: origin)
            #expect(once.text.contains(#""isLiked":true"#))
            #expect(once.body == twice.body)
            #expect(once["Content-Location"] == "/moments/tides-2")
            #expect(once["Cache-Control"] == "no-store")
            #expect(try await RawClient.get("/moments/tides-2", to: origin).body == once.body)
            for _ in 0..<2 {
                let undone = try await RawClient.send("DELETE", "/moments/tides-2/like", to: origin)
                #expect(undone.body == before.body)
            }
            #expect(try await RawClient.send(method, "/moments/nobody-2/like", to: origin).status == 404)
        }
    }

    @Test(arguments: [
        ("/moments?userID=harbour&page=3", 200), ("/moments?userID=harbour&page=4", 200),
        ("/moments?userID=harbour&page=0", 400), ("/moments?userID=harbour&page=x", 400), ("/moments", 400),
        ("/moments?userID=nobody", 404), ("/moments/harbour-7", 200), ("/moments/harbour-07", 404),
        ("/moments/harbour-26", 404), ("/users/tides", 200), ("/users/nobody", 404),
        ("/images/harbour-avatar.svg", 200), ("/images/other.svg", 404), ("/nowhere", 404),
    ])
    func respondsWithStatus(target: String, status: Int) async throws {
        let response = try await SampleOrigin.withOrigin { try await RawClient.get(target, to: $0) }
        #expect(response.status == status)
        #expect((status == 200) != response.text.contains(#"{"error":{"code":"#))
        #expect(response["X-Origin-Request"] == "1")
    }

    @Test func maxAgeIsConfigurable() async throws {
        let response = try await SampleOrigin.withOrigin(OriginConfiguration(maxAge: 7)) {
            try await RawClient.get(feed, to: $0)
        }
        #expect(response["Cache-Control"] == "max-age=7")
    }

    @Test func everyPhotoOfTheFeedExists() async throws {
        try await SampleOrigin.withOrigin { origin in
            let response = try await RawClient.get(feed, to: origin)
            let photos = response.text.matches(of: /\/images\/[a-z0-9.-]+/).map { String($0.output) }
            #expect(photos.count > 10)
            for photo in Set(photos) {
                #expect(try await RawClient.get(photo, to: origin).status == 200, "\(photo)")
            }
        }
    }
}
