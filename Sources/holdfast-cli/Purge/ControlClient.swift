import AsyncHTTPClient
import CommandLineSupport
import Foundation
import HoldfastControl
import NIOCore
import NIOHTTP1

/// A client of a running gateway's control plane.
struct ControlClient: Sendable {
    let socket: ControlSocket

    /// How long an operation may take. A purge of many prefixes waits until earlier ones are
    /// applied.
    private static let timeLimit = TimeAmount.minutes(5)
    private static let responseLimit = 4 << 20

    /// Sends a purge.
    ///
    /// - Throws: `CommandFailure`, with the gateway's own words if it rejected the purge.
    func purge(_ purge: PurgeRequest) async throws -> PurgeResult {
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        do {
            let result = try await send(purge, by: client)
            try? await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            if error is CommandFailure { throw error }
            throw CommandFailure(
                "The gateway behind '\(socket.path)' did not respond to the purge: \(error). "
                    + "Look at its log, and repeat the purge."
            )
        }
    }

    private func send(_ purge: PurgeRequest, by client: HTTPClient) async throws -> PurgeResult {
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        let path = socket.path.addingPercentEncoding(withAllowedCharacters: allowed) ?? socket.path
        var request = HTTPClientRequest(url: "http+unix://\(path)/v1/purges")
        request.method = .POST
        request.headers.add(name: "Host", value: "localhost")
        request.headers.add(name: "Content-Type", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: Array(try JSONEncoder().encode(purge))))
        let response = try await client.execute(request, timeout: Self.timeLimit)
        let content = Data(try await response.body.collect(upTo: Self.responseLimit).readableBytesView)
        guard response.status == .ok else {
            let problem = try? JSONDecoder().decode(ControlProblem.self, from: content)
            let unknown =
                "The process behind '\(socket.path)' responded with \(response.status.code): it is no gateway."
            throw CommandFailure(problem?.detail ?? unknown)
        }
        return try JSONDecoder().decode(PurgeResult.self, from: content)
    }
}
