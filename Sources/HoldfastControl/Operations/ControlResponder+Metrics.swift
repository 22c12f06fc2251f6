import Foundation
import HTTPTypes
import HoldfastMetrics
import Hummingbird

extension ControlResponder {
    /// The operation that Prometheus scrapes.
    static let metrics: [Operation] = [
        Operation(path: "/metrics", method: .get, scope: .read, acceptsAddresses: true) {
            try await $0.metrics($1, $2)
        }
    ]

    /// Handles `GET /metrics`.
    private func metrics(_ request: Request, _: ControlContext) async throws -> Response {
        let format = ExpositionFormat(accept: request.headers[values: .accept].joined(separator: ","))
        let text = format.text(await registry.families())
        return Self.response(.ok, format.contentType, Data(text.utf8), ending: "")
    }
}
