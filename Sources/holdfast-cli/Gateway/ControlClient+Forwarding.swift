import AsyncHTTPClient
import HTTPTypes
import HoldfastControl
import NIOCore
import NIOHTTP1

extension ControlClient: ControlForwarding {
    /// Forwards a request from the page to the socket. The response's content is streamed as it
    /// arrives.
    func forward(
        _ method: HTTPRequest.Method,
        _ target: String,
        _ content: ByteBuffer?
    ) async throws -> ForwardedResponse {
        var request = HTTPClientRequest(url: url(target))
        request.method = HTTPMethod(rawValue: method.rawValue)
        request.headers.add(name: "Host", value: "localhost")
        if let content {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(content)
        }
        let response = try await HTTPClient.shared.execute(request, timeout: Self.relayLimit)
        var fields = HTTPFields()
        for (name, value) in response.headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return ForwardedResponse(status: Int(response.status.code), fields: fields, content: response.body)
    }

    /// The time limit for a relayed request. It is longer than any page reads events.
    private static let relayLimit = TimeAmount.hours(1)
}
