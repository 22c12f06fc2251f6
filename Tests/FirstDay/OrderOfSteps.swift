import Holdfast

private struct User: Decodable, Sendable { var name: String }
private struct GetUser: Endpoint { let path = "/user" }

private func steps() {
    _ = GetUser().request().map(User.self)
    _ = GetUser().cache.request().map(User.self)
    _ = GetUser().onCache(User.self, at: "data.user") { _ in }
}
