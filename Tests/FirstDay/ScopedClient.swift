import Holdfast

private enum MovieAPI: Endpoint {
    case newMovies(page: Int)
    var path: String { "/movies" }
    var task: HTTPTask {
        switch self {
        case .newMovies(let page): .query(["page": page])
        }
    }
}

private func scoped(_ client: CachingClient) {
    _ = client.of(MovieAPI.self).startWith(.newMovies(page: 1))
}
