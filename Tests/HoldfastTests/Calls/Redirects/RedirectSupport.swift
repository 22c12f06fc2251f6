import Foundation
import Holdfast
import HoldfastTesting

/// An endpoint whose redirects a test follows.
struct Moving: Endpoint {
    typealias Response = String
    var baseURL = ScriptedClient.url
    var path = "/from"
    var method: HTTPRequest.Method = .get
    var task = HTTPTask.plain
    var headers: HTTPFields = [:]
    var secrets = Secrets()
    var storage = CacheRequest.Storage.byResponse
    var offlineReads: OfflineReads?
    var invalidates: [StoreInvalidation] = []
    var acceptedStatuses = AcceptedStatuses.successful
    var timeout: Duration?
    var redirects = RedirectPolicy.reads
}

extension ScriptedTransport.Reply {
    /// A redirect.
    ///
    /// - Parameter maxAge: its lifetime in seconds; `nil` states none.
    static func redirect(_ status: Int = 302, to location: String, maxAge: Int? = nil, _ more: HTTPFields = [:]) -> Self
    {
        var fields = more
        fields[.location] = location
        if let maxAge { fields[.cacheControl] = "max-age=\(maxAge)" }
        return .status(.init(code: status), fields: fields)
    }
}

extension ScriptedClient {
    /// The targets of the requests since `count`, without the host.
    func paths(since count: Int = 0) -> [String] {
        transport.requests.dropFirst(count).map { request in
            (request.authority == "a.example" ? "" : request.authority ?? "") + (request.path ?? "")
        }
    }

    /// Scripts all further responses for a path of the usual host, or for a whole URL.
    func always(_ target: String, _ reply: ScriptedTransport.Reply) {
        transport.script(target.hasPrefix("/") ? Self.url + target : target, repeating: reply)
    }
}
