import HTTPCache
import HTTPClientTransport
import HTTPTypes
import Logging
import TestSupport

extension HTTPClientTransport {
    /// Runs `body` with a transport, and shuts the transport down.
    static func with<Value>(
        _ configuration: Configuration = .patient,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: (HTTPClientTransport) async throws -> Value
    ) async throws -> Value {
        let transport = HTTPClientTransport(configuration: configuration, logger: logger)
        do {
            let value = try await body(transport)
            try await transport.shutDown()
            return value
        } catch {
            try await transport.shutDown()
            throw error
        }
    }
}

extension HTTPClientTransport.Configuration {
    /// Limits that no busy machine reaches, for tests of something else.
    static var patient: Self { Self(connectTimeout: .seconds(3600), idleTimeout: .seconds(3600)) }
}

/// The code of the error with which a request ends.
func code(_ transport: HTTPClientTransport, _ request: TransportRequest) async -> TransportError.Code? {
    do {
        let response = try await transport.send(request)
        _ = try await response.body.collect(upTo: 1 << 20)
        return nil
    } catch {
        return (error as? TransportError)?.code
    }
}

func code(_ transport: HTTPClientTransport, _ url: String) async -> TransportError.Code? {
    guard let head = try? HTTPRequest(url: url) else { return nil }
    return await code(transport, TransportRequest(head: head))
}
