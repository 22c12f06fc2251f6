import Testing

/// Shared by the suites in 'Attacks'.
enum AttackedGateway {
    /// A field of a response that is fresh for a minute.
    static let cacheable = "Cache-Control: max-age=60\r\n"

    /// Sends an invalid request, followed by one that must not be read as the next request.
    static func expectRefusal(_ request: String, _ status: Int, isForwarded: Bool = false) async throws {
        try await RawOrigin.with { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    try await client.send(request + "GET /smuggled HTTP/1.1\r\nHost: g\r\n\r\n")
                    let response = try await client.response()
                    #expect(response.status == status)
                    #expect(response["Content-Type"] == "application/problem+json")
                    #expect(response["Connection"] == "close")
                    #expect(await client.readToEnd().isEmpty)
                }
                // The origin may have got a head, but no request with its content.
                #expect(origin.requests.isEmpty)
                if !isForwarded { #expect(origin.connectionCount == 0) }
            }
        }
    }
}
