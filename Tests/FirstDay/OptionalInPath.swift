import Holdfast

private struct User: Endpoint {
    var name: String?
    var path: URLPath { "/users/\(name)" }  // says: A path has no place for nil. Unwrap the value first.
}
