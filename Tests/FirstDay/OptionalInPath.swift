import Holdfast

private struct User: Endpoint {
    var name: String?
    var path: URLPath { "/users/\(name)" }  // says: A path cannot contain nil. Unwrap the value first.
}
