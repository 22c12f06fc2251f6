import Holdfast

private enum MovieAPI: Endpoint {
    case newMovies(page: Int)
    var path: String { "/movies" }
}

// An implicit member needs a type. See ScopedClient.swift.
private func ask(_ client: CachingClient) {
    _ = client.startWith(.newMovies(page: 1))  // says: has no member 'newMovies'
}
