import ArgumentParser
import CommandLineSupport
import HTTPCache
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import Logging
import NIOCore

/// `holdfast get URL --store STORE`, `holdfast get URL --config FILE`
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetches a URL through a store.",
        discussion: """
            The body goes to standard output as it arrives. Each response prints a line on standard error (stderr) with its source, status, age and Cache-Status.

            From a configuration file, the command uses the store, the mode, the rules, 'timeouts.soft' and 'timeouts.hard'. It ignores 'routes', 'origins' and all other timeouts, which are for the gateway. '--store' and \
            '--offline' override the file. If the file is invalid, its findings go to standard error, one per line, and the exit status is 1.

            The exit status is 0 if a whole body was delivered, 1 if not, 64 if the command line is invalid.

            Examples:
              holdfast get https://api.example.com/feed --store feed.store
              holdfast get https://api.example.com/feed --store feed.store --offline
              holdfast get https://api.example.com/me --store my.store --header 'Authorization: Bearer …'
              holdfast get https://api.example.com/feed --config holdfast.yaml
            """
    )

    /// The strategies of the request layer, by their names on the command line.
    enum Strategy: String, ExpressibleByArgument, CaseIterable {
        case standard
        case startWith = "start-with"
        case storedFirst = "stored-first"
        case networkFirst = "network-first"
        case storedOnly = "stored-only"
        case networkOnly = "network-only"

        /// The preferences of the requests, in order. `start-with` makes two requests.
        var preferences: [CacheRequest.Preference] {
            switch self {
            case .standard: [.standard]
            case .startWith: [.storedOnly, .networkOnly]
            case .storedFirst: [.storedFirst]
            case .networkFirst: [.networkFirst]
            case .storedOnly: [.storedOnly]
            case .networkOnly: [.networkOnly]
            }
        }
    }

    @Argument(help: "Absolute http or https URL.")
    var url: String

    @Option(help: "Store folder. Created if it does not exist, unless offline.")
    var store: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file, YAML or JSON.", valueName: "file")
    )
    var file: String?

    @Flag(help: "Use only the store; open no connections.")
    var offline = false

    @Option(
        help: ArgumentHelp(
            "Where responses come from.",
            discussion: """
                standard: a fresh stored response immediately; a stale one after validation; even a stale one if the origin is unreachable. \
                start-with: the stored response, then the network's (printed only if it differs). \
                stored-first: a stored response, even a stale one, otherwise the network's. \
                network-first: the network's, otherwise a stored response, even a stale one. stored-only, network-only: only that source. \
                A directive may forbid the use of a stale response.
                """
        )
    )
    var strategy: Strategy = .standard

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("Request field. Repeatable.", valueName: "name: value")
    )
    var headers: [String] = []

    func validate() throws {
        // RFC 9110 §7.2
        guard try !requestHead().headerFields.contains(where: { $0.name.canonicalName == "host" }) else {
            throw ValidationError("'--header' cannot set 'Host', which is the host of the URL. Change the URL.")
        }
        if offline, strategy == .networkOnly {
            throw ValidationError(
                "'--offline' uses only the store, and '--strategy network-only' none. Omit one of them."
            )
        }
        guard store != nil || file != nil else {
            throw ValidationError("Name a store with '--store', or a file with '--config'.")
        }
    }

    func run() async throws {
        let head = try requestHead()
        let file = try self.file.map { try ConfigurationFile.read($0) } ?? Configuration()
        guard let store = store ?? file.storeFolder else {
            throw CommandFailure(
                "'\(self.file ?? "")' sets no store. Set 'store.path' in the file, or use '--store'."
            )
        }
        do {
            try await withClient(file, at: store) { client in try await deliver(head, through: client) }
        } catch let miss as Miss {
            let hasRoutes = !file.routes.isEmpty
            let advice = hasRoutes ? " 'get' uses no 'routes': the URL must be that of the origin." : ""
            throw CommandFailure(miss.message + advice)
        } catch let error where error is CommandFailure || error is ExitCode {
            throw error
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Runs `body` with a client. Offline, the store is opened read-only, so the command works even
    /// while a service writes to the store, and a mistyped path does not create a store.
    private func withClient(
        _ file: Configuration,
        at store: String,
        _ body: (CachingClient) async throws -> Void
    ) async throws {
        let logger = Logger.standardError
        let storage = CacheManager.Configuration(file.store)
        var configuration = CachingClient.Configuration(file)
        if offline { configuration.mode = .offline }
        let store =
            try await offline
            ? CacheManager.openReadOnly(at: store, configuration: storage, logger: logger)
            : CacheManager.open(at: store, configuration: storage, logger: logger)
        let transport = HTTPClientTransport(logger: logger)
        let client = CachingClient(
            store: store,
            transport: transport,
            configuration: configuration,
            logger: logger
        )
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await body(client))
        } catch {
            outcome = .failure(error)
        }
        try await client.close()
        try await transport.shutDown()
        try await store.close()
        try outcome.get()
    }

    private func requestHead() throws -> HTTPRequest {
        let target: TargetURI
        do {
            target = try TargetURI(url)
        } catch {
            throw ValidationError("\(error)")
        }
        return HTTPRequest(
            method: .get,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: try HTTPFields(lines: headers)
        )
    }

    /// Returns why no connection could be used, after a space; empty if that is unknown.
    private static func cause(of error: any Error, _ head: HTTPRequest) -> String {
        let transportError = (error as? ExchangeError)?.cause as? TransportError
        if transportError?.code == .nameResolution { return " Check the URL and this machine's DNS." }
        guard let cause = transportError?.cause, let failure = ConnectionFailure(cause)
        else { return "" }
        let advice = failure == .refused ? " Check whether it is running and listens on this port." : ""
        return " " + failure.fault(of: "\(head.scheme ?? "")://\(head.authority ?? "")", cause) + advice
    }

    private func deliver(_ head: HTTPRequest, through client: CachingClient) async throws {
        var delivered: StoredResponse.ID?
        var hasDelivered = false
        // Offline, the second request would only read the store again.
        for preference in offline ? [.storedOnly] : strategy.preferences {
            do {
                let response = try await client.respond(to: CacheRequest(head: head, preference: preference))
                StandardStream.error.line(response.responseLine)
                // The network confirmed the body that was already printed.
                if response.isValidated, let delivered, delivered == response.stored?.bodyID { continue }
                for try await chunk in response.body {
                    try chunk.withUnsafeReadableBytes { try StandardStream.output.write($0) }
                }
                delivered = response.stored?.bodyID
                hasDelivered = true
            } catch is StandardStream.Closed {
                // The reader closed the pipe, so no message is needed. However, the body was not
                // delivered.
                throw ExitCode.failure
            } catch let error as ExchangeError where strategy == .startWith && preference == .storedOnly && error.isMiss
            {
                continue
            } catch let error as ExchangeError where hasDelivered {
                StandardStream.error.line("\(error)")
            } catch let error as ExchangeError where error.isMiss {
                throw Miss(message: "\(error)")
            } catch {
                throw CommandFailure("\(error)\(Self.cause(of: error, head))")
            }
        }
        if !hasDelivered { throw CommandFailure("No body was delivered.") }
    }
}

/// The error of a request for which nothing usable is stored.
private struct Miss: Error {
    let message: String
}

extension ExchangeError {
    /// Whether the store has no usable response.
    fileprivate var isMiss: Bool { code == .offlineMiss || code == .staleForbidden }
}

extension CacheResponse {
    /// The response as a line for people and scripts.
    var responseLine: String {
        "response source=\(source.rawValue) status=\(head.status.code) age=\(age.components.seconds)s stale=\(isStale)"
            + " cache-status=\"\(outcome.cacheStatus())\""
    }
}

extension HTTPFields {
    /// Parses fields from lines such as `Accept: text/plain`.
    init(lines: [String]) throws {
        self.init()
        // No message repeats a line, because it may contain a credential.
        for (index, line) in lines.enumerated() {
            guard let colon = line.firstIndex(of: ":") else {
                throw ValidationError("'--header' number \(index + 1) has no colon. Write 'Name: value'.")
            }
            guard let name = HTTPField.Name(String(line[..<colon])) else {
                throw ValidationError(
                    "'--header' number \(index + 1) has no valid field name before its colon. Write 'Name: value'."
                )
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            guard HTTPField.isValidValue(String(value)) else {
                throw ValidationError(
                    "The value of '--header \(name)' contains a character that is not allowed in a field value."
                )
            }
            append(HTTPField(name: name, value: String(value)))
        }
    }
}

extension Logger {
    /// A logger that writes warnings and errors to standard error.
    fileprivate static var standardError: Logger {
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }
}
