import AsyncHTTPClient
import CommandLineSupport
import Foundation
import HoldfastControl
import LocalSockets
import NIOCore
import NIOHTTP1
import NIOPosix

/// A client of a running gateway's control plane.
struct ControlClient: Sendable {
    /// The address of the control plane in messages.
    let name: String
    private let base: String
    private let token: String?
    /// The time limit for each operation; `nil` for the standard ones.
    private let timeLimit: TimeAmount?
    /// How to change the time limit, if it is exceeded.
    private let timeAdvice: String

    private static let responseLimit = 16 << 20
    /// A gateway that works responds within milliseconds, unless the disk is busy.
    static let standardLimit = TimeAmount.seconds(10)
    /// The time limit for an operation that may wait for others of its kind. A purge of many
    /// prefixes waits until previous purges are applied.
    static let queuedLimit = TimeAmount.minutes(5)

    init(socket: ControlSocket, timeLimit: TimeAmount?, timeAdvice: String = "") {
        name = socket.path
        self.timeAdvice = timeAdvice
        var allowed = CharacterSet.alphanumerics
        allowed.insert(charactersIn: "-._~")
        base = "http+unix://" + (name.addingPercentEncoding(withAllowedCharacters: allowed) ?? name)
        token = nil
        self.timeLimit = timeLimit
    }

    /// Creates a client of the gateway that listens on a socket. Every command connects this way,
    /// except an audit, which reports nodes that it cannot reach.
    ///
    /// - Parameter timeLimit: the value of '--timeout'; `nil` if there is none.
    /// - Returns: `nil` if no process listens there.
    /// - Throws: `CommandFailure` if this user may not connect.
    init?(reaching socket: ControlSocket, timeLimit: TimeAmount?) throws {
        switch socket.reach {
        case .live:
            let advice = " If it is only busy, use a longer '--timeout'."
            self.init(socket: socket, timeLimit: timeLimit, timeAdvice: advice)
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
        timeAdvice = ""
    }

    /// Sends a purge.
    ///
    /// - Throws: `CommandFailure`, with the gateway's message if it rejected the purge.
    func purge(_ purge: PurgeRequest) async throws -> PurgeResult {
        try await send(.POST, "/v1/purges", purge, isQueued: true)
    }

    /// Reads a report.
    ///
    /// - Throws: `CommandFailure`
    func get<Report: Decodable>(_ path: String) async throws -> Report {
        try await send(.GET, path, Optional<String>.none)
    }

    /// Sends a request, with JSON content if there is any.
    ///
    /// - Parameter isQueued: whether the operation may wait for others of its kind. The gateway
    ///   must then first respond to another request, so that a stopped gateway is noticed soon.
    /// - Throws: `CommandFailure`, with the gateway's message if it rejected the request.
    func send<Result: Decodable>(
        _ method: HTTPMethod,
        _ path: String,
        _ content: (some Encodable)?,
        isQueued: Bool = false
    ) async throws -> Result {
        if isQueued, token == nil { let _: Response = try await get("/v1/mode") }
        let limit = timeLimit ?? (isQueued ? Self.queuedLimit : Self.standardLimit)
        var configuration = HTTPClient.Configuration()
        // The deadline of a request ends with the response's head.
        configuration.timeout = HTTPClient.Configuration.Timeout(connect: limit, read: limit)
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        // The query may contain a secret.
        let operation = "\(method) \(path.prefix { $0 != "?" })"
        do {
            let result: Result = try await send(method, path, content, by: client, within: limit)
            try? await client.shutdown()
            return result
        } catch {
            try? await client.shutdown()
            if error is CommandFailure { throw error }
            if Self.isRefusal(error) {
                throw CommandFailure("'\(name)' accepts no connections. Check the address, and that the gateway runs.")
            }
            guard let failure = error as? HTTPClientError, Self.timeouts.contains(failure) else {
                // The library's own text describes its parser, which does not help the user.
                throw CommandFailure(
                    "The process behind '\(name)' sent no valid response to \(operation). If it is a gateway, "
                        + "check its log and repeat the command; otherwise check the address."
                )
            }
            throw CommandFailure(
                "The gateway behind '\(name)' did not respond to \(operation) within \(limit.nanoseconds / 1_000_000_000) s. "
                    + "Its process may be stopped or overloaded: check it and its log, then repeat the command."
                    + timeAdvice
            )
        }
    }

    /// Any response.
    private struct Response: Decodable {}

    /// Returns whether no connection could be opened. Which error says so depends on whether the
    /// address has a name.
    private static func isRefusal(_ error: any Error) -> Bool {
        error is NIOConnectionError || (error as? IOError)?.errnoCode == ECONNREFUSED
    }

    private static let timeouts: [HTTPClientError] = [.deadlineExceeded, .readTimeout, .connectTimeout]

    private func send<Result: Decodable>(
        _ method: HTTPMethod,
        _ target: String,
        _ content: (some Encodable)?,
        by client: HTTPClient,
        within limit: TimeAmount
    ) async throws -> Result {
        var request = HTTPClientRequest(url: url(target))
        request.method = method
        if base.hasPrefix("http+unix:") { request.headers.add(name: "Host", value: "localhost") }
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let content {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: Array(try JSONEncoder().encode(content))))
        }
        let response = try await client.execute(request, timeout: limit)
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
