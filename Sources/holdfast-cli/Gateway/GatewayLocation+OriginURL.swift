import Foundation
import HTTPCacheOperations
import Holdfast
import HoldfastGateway

extension GatewayLocation {
    /// The part of `GET /v1/explain` that is used.
    private struct Explained: Decodable {
        struct Explanation: Decodable { var request: Request }
        struct Request: Decodable { var target: String }

        var explanation: Explanation
    }

    /// Returns the origin's URL to which routes lead a host that clients request; `nil` if they do
    /// not, or if it cannot be found out.
    func originURL(ofHost host: String) async -> String? {
        guard let url = try? TargetURI("http://\(host)/") else { return nil }
        let target: TargetURI?
        if socket == nil, let routes = (try? namedStore(warns: false))?.routes {
            target = routes.originURLs(of: url).first?.url
        } else {
            let value = url.uri.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? url.uri
            do {
                let explained: Explained = try await gateway().get("/v1/explain?url=\(value)")
                target = try TargetURI(explained.explanation.request.target)
            } catch {
                return nil
            }
        }
        guard let target, target.host != url.host else { return nil }
        return target.uri
    }
}
