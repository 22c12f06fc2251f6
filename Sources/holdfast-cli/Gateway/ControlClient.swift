import AsyncHTTPClient
import CommandLineSupport
import Foundation
import HoldfastControl
import LocalSockets
import NIOCore
import NIOHTTP1

/// A client of a running gateway's control plane.
struct ControlClient: Sendable {
    /// The address of the control plane in messages.
    let name: String
    private let base: String
    private let token: String?
    /// The time limit for an operation. A purge of many prefixes waits until previous purges are
    /// applied.
    private let timeLimit: TimeAmount

    private static let responseLimit = 16 << 20

    init(socket: ControlSocket, timeLimit: TimeAmount = .minutes(5)) {
        name = socket.path
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        base = "http+unix://" + (name.addingPercentEncoding(withAllowedCharacters: allowed) ?? name)
        token = nil
        self.timeLimit = timeLimit
    }

    /// Creates a client of the gateway that listens on a socket. Every command connects this way,
    /// except an audit, which reports nodes that it cannot reach.
    ///
    /// - Returns: `nil` if no process listens there.
    /// - Throws: `CommandFailure` if this user may not connect.
    init?(reaching socket: ControlSocket) throws {
        switch socket.reach {
        case .live: self.init(socket: socket)
        case .denied:
            throw CommandFailure(
                "This user may not connect to the control socket '\(socket.path)'. "
                    + "Run the command as the gateway's user or as a member of its group."
            )
        case .nobody: return nil
        }
    }

    /// - Parameters:
    ///   - address: `host:port`, or a URL without a path.
    ///   - token: the token of one of the gateway's clients.
    init(address: String, token: String?, timeLimit: TimeAmount) {
        name = address
        base = address.contains("://") ? address : "http://\(address)"
        self.token = token
        self.timeLimit = timeLimit
    }

    /// Sends a purge.
    ///
    /// - Throws: `CommandFailure`, with the gateway's message if it rejected the purge.
    func purge(_ purge: PurgeRequest) async throws -> PurgeResult {
        try await send(.POST, "/v1/purges", purge)
    }

    /// Reads a report.
    ///
    /// - Throws: `CommandFailure`
    func get<Report: Decodable>(_ path: String) async throws -> Report {
        try await send(.GET, path, Optional<String>.none)
    }

    /// Sends a request, with JSON content if there is any.
    ///
    /// - Throws: `CommandFailure`, with the gateway's message if it rejected the request.
    func send<Result: Decodable>(
        _ method: HTTPMethod,
        _ path: String,
        _ content: (some Encodable)?
    ) async throws -> Result {
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        do {
            let result: Result = try await send(method, path, content, by: client)
            try? await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            if error is CommandFailure { throw error }
            throw CommandFailure(
                "The gateway behind '\(name)' did not respond to \(method) \(path): \(error). "
                    + "Check its log, then repeat the command."
            )
        }
    }

    private func send<Result: Decodable>(
        _ method: HTTPMethod,
        _ target: String,
        _ content: (some Encodable)?,
        by client: HTTPClient
    ) async throws -> Result {
        var request = HTTPClientRequest(url: url(target))
        request.method = method
        if base.hasPrefix("http+unix:") { request.headers.add(name: "Host", value: "localhost") }
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let content {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: Array(try JSONEncoder().encode(content))))
        }
        let response = try await client.execute(request, timeout: timeLimit)
        let received = Data(try await response.body.collect(upTo: Self.responseLimit).readableBytesView)
        // Accepted: the purge has been applied here, and is being sent to other nodes.
        guard response.status == .ok || response.status == .accepted else {
            let problem = try? JSONDecoder().decode(ControlProblem.self, from: received)
            let unknown =
                "The process behind '\(name)' responded with \(response.status.code), so it is not a gateway. Check the address."
            throw CommandFailure(problem.map { OptionWords.text($0) } ?? unknown)
        }
        return try JSONDecoder().decode(Result.self, from: received)
    }

    /// Returns the URL of a path, in the HTTP client's form.
    func url(_ target: String) -> String { base + target }
}
