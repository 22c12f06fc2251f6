import Foundation
import Holdfast
import HoldfastTesting
import Testing

/// `client.of(MovieAPI.self)`: one dot lists the endpoints of a type.
@Suite(.timeLimit(.minutes(20))) struct ScopedClientTests {
    private enum MovieAPI: Endpoint {
        case newMovies(page: Int)
        case video(id: Int)
        var baseURL: String { ScriptedClient.url }
        var path: String {
            switch self {
            case .newMovies: "/new"
            case .video(let id): "/movies/\(id)/videos"
            }
        }
        var task: HTTPTask {
            switch self {
            case .newMovies(let page): .query(["page": "\(page)"])
            case .video: .plain
            }
        }
    }

    private struct Movie: Endpoint {
        struct Response: Codable, Sendable { var title: String }
        var id = 1
        var baseURL: String { ScriptedClient.url }
        var path: String { "/movies/\(id)" }
        static func movie(_ id: Int) -> Movie { Movie(id: id) }
    }

    @Test func everyCallTakesTheCasesOfTheType() async throws {
        try await ScriptedClient.run { fixture in
            let bytes = fixture.client.of(MovieAPI.self)
            let movies = bytes.as([Int].self)
            for number in 1...5 { fixture.script("/new?page=1", .fresh("[\(number)]")) }
            #expect(try await movies.fetch(.newMovies(page: 1)).value == [1])
            let stream = await movies.startWith(.newMovies(page: 1)).collected()
            #expect(stream.emissions.map(\.value) == [[1], [2]])
            let events = Events()
            let fresh = movies.onCache(.newMovies(page: 1)) { events.append("\($0.value)") }
            for try await emission in fresh.request() { events.append("\(emission.value)") }
            #expect(events.all == ["[2]", "[3]"])
            let call = movies.call(.newMovies(page: 1)).map(\.count)
            #expect(try await call.fetch(.networkOnly).value == 1)
            #expect(try await movies.stored(.newMovies(page: 1))?.value == [4])
            try await movies.update(.newMovies(page: 1)) { $0.append(9) }
            #expect(try await movies.stored(.newMovies(page: 1))?.value == [4, 9])
            try await movies.invalidate(.newMovies(page: 1))
            #expect(try await bytes.fetch(.newMovies(page: 1), .networkFirst).value == Data("[5]".utf8))
            try await movies.remove(.newMovies(page: 1))
            #expect(try await movies.stored(.newMovies(page: 1)) == nil)
            _ = bytes.call(.video(id: 7))
        }
    }

    @Test func responseOfTheTypeIsTheDefault() async throws {
        try await ScriptedClient.run { fixture in
            fixture.script("/movies/7", .fresh(#"{"title":"Stalker"}"#))
            let movies = fixture.client.of(Movie.self)
            #expect(try await movies.fetch(.movie(7)).value.title == "Stalker")
            try await movies.update(.movie(7)) { $0.title = "Solaris" }
            #expect(try await movies.stored(.movie(7))?.value.title == "Solaris")
        }
    }
}
