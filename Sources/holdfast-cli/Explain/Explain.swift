import ArgumentParser
import CommandLineSupport
import Foundation
import HTTPCache
import HTTPCacheExplaining
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration
import HoldfastGateway
import Logging
import NIOCore

/// `holdfast explain URL --store STORE`, `holdfast explain URL --config FILE`
struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows how a request would be served from a store, and why.",
        discussion: """
            Sends no request and changes nothing. The store is opened read-only, even while a service writes to it. The output begins with the verdict. It continues with the relevant facts, the stored \
            responses and their freshness; the verdicts if the origin were unreachable, returned 503, or the mode were 'offline'; and when these will change. Secrets are redacted: \
            credentials, cookies, and values of parameters such as 'token'.

            From a configuration file, the command uses the store, the mode, the rules and the routes. If the file has routes, the URL may be the origin's or one that a client requests from the \
            gateway, and the store is read as a shared cache, as the gateway reads it. Otherwise, it is read as a private cache, as the library reads it. \
            Without '--config' and '--store', $HOLDFAST_CONFIG and $HOLDFAST_STORE are used. '--shared' and '--private' set the kind of cache. If the gateway itself would answer a client (a health check, 'respond', a host without a route, a client that is not allowed), the first \
            line names the response and the setting. The state of origins in a running service (for example, that an origin is unreachable) is not in the store and is not \
            used.

            JSON: one object, with 'answer' if the gateway itself would answer. Durations are in milliseconds; times are in milliseconds since 1970 (UTC).

            The exit status is 0 even if nothing is stored, 1 if the store or the file cannot be read, 64 if the command line is invalid.

            Examples:
              holdfast explain https://api.example.com/feed --store feed.store
              holdfast explain https://api.example.com/feed --store feed.store --at +2h --offline
              holdfast explain http://api.local/v1/feed --config holdfast.yaml
              holdfast explain http://api.local/v1/feed --config holdfast.yaml --client 192.0.2.7
              holdfast explain https://api.example.com/graphql --config holdfast.yaml --method POST --content query.json
              holdfast explain https://api.example.com/me --store my.store --header 'Authorization: Bearer …' --format json
            """
    )

    /// The output format.
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json
    }

    /// The kind of cache as which the store is read. RFC 9111 §1
    enum Kind: String, EnumerableFlag {
        case shared, `private`

        static func help(for value: Kind) -> ArgumentHelp? {
            switch value {
            case .shared: "Read the store as a shared cache, as the gateway does. Default if the file has routes."
            case .private: "Read the store as a private cache, as the library does. Default otherwise."
            }
        }
    }

    @Argument(help: "Absolute http or https URL.")
    var url: String

    @Option(
        help: """
            Store folder; overrides the folder in the file. 'holdfast serve' prints the folder that it uses by default.
            """
    )
    var store: String?

    @Option(
        name: .customLong("config"),
        help: ArgumentHelp("Configuration file, YAML or JSON.", valueName: "file")
    )
    var file: String?

    // A time in the past begins with a dash, like an option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Explain for this time instead of now: ISO 8601 such as 2026-01-31T12:00:00Z, or relative, such as +90s, +2h, -1d.",
            valueName: "time"
        )
    )
    var at: Instant?

    @Flag(help: "Explain as if the mode were 'offline'.")
    var offline = false

    @Flag(exclusivity: .exclusive)
    var kind: Kind?

    @Option(help: "Request method.")
    var method = "GET"

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("Request field. Repeatable.", valueName: "name: value")
    )
    var headers: [String] = []

    @Option(
        help: ArgumentHelp(
            "File with the request content, exactly as it is sent. Needed if the content of a POST or QUERY is part of the key.",
            valueName: "file"
        )
    )
    var content: String?

    @Option(help: ArgumentHelp("Principal that the service sets for the request.", valueName: "name"))
    var principal: String?

    @Option(
        help: ArgumentHelp(
            "IP address of a gateway's client, or 'unix'. The URL is then one that clients request.",
            valueName: "address"
        )
    )
    var client: String?

    @Option(help: "Output format; json prints one JSON object.")
    var format = Format.text

    func validate() throws {
        // RFC 9110 §9.1
        let capitals = method.uppercased()
        guard method == capitals || !["GET", "HEAD", "POST", "QUERY"].contains(capitals) else {
            throw ValidationError("'--method' is case-sensitive. Write '\(capitals)'.")
        }
        for target in try targets() { _ = try head(to: target) }
        if let client, AddressRange.Parsed(client) == nil {
            throw ValidationError("'--client' must be an IP address such as 192.0.2.7, or 'unix', not '\(client)'.")
        }
        guard store != nil || named.file != nil || named.store != nil else {
            throw ValidationError("Name a store with '--store', or a file with '--config'.")
        }
    }

    /// The store and the file that the options name or, without any, the variables of 'serve'.
    private var named: (store: String?, file: String?) {
        guard store == nil, file == nil else { return (store, file) }
        let environment = ProcessInfo.processInfo.environment
        return (ServeVariable.store.value(in: environment), ServeVariable.config.value(in: environment))
    }

    func run() async throws {
        let named = named
        let file = try named.file.map { try ConfigurationFile.readWithoutValues($0) } ?? Configuration()
        guard let folder = named.store ?? file.storeFolder else {
            throw CommandFailure(
                "'\(named.file ?? "")' sets no store. Set 'store.path' in the file, or use '--store'."
            )
        }
        let logger = Logger.explaining
        let asked = try explained(by: file, logger)
        do {
            let store = try await CacheManager.openReadOnly(at: folder, logger: logger)
            let outcome: Result<(Explanation, ExplainedTarget), any Error>
            do {
                outcome = .success(try await explain(asked, in: store, file, logger))
            } catch {
                outcome = .failure(error)
            }
            try await store.close()
            let (explanation, asked) = try outcome.get()
            try write(explanation, asked)
            guard explanation.isStoreReadable else {
                throw CommandFailure("The store cannot be read. 'cache-dump verify' shows details.")
            }
        } catch is StandardStream.Closed {
            return
        } catch let error as CommandFailure {
            throw error
        } catch {
            throw CommandFailure("\(error)")
        }
    }

    /// Explains the first of these targets for which a response is stored. If there is none,
    /// explains the first target.
    private func explain(
        _ asked: [ExplainedTarget],
        in store: CacheManager,
        _ file: Configuration,
        _ logger: Logger
    ) async throws -> (Explanation, ExplainedTarget) {
        var asked = asked
        let first = try await explain(request(to: &asked[0], file), in: store, file, logger)
        if first.variants.isEmpty {
            for index in asked.indices.dropFirst() {
                let explanation = try await explain(request(to: &asked[index], file), in: store, file, logger)
                if !explanation.variants.isEmpty { return (explanation, asked[index]) }
            }
        }
        return (first, asked[0])
    }

    private func request(to asked: inout ExplainedTarget, _ file: Configuration) throws -> CacheRequest {
        var request = try request(to: asked.target)
        if !file.leadsNowhere, file.clientSchemes.count > 1 { asked.addScheme(to: &request.head.headerFields) }
        return request
    }

    private func explain(
        _ request: CacheRequest,
        in store: CacheManager,
        _ file: Configuration,
        _ logger: Logger
    ) async throws -> Explanation {
        let secret = store.credentialSecret
        guard secret.count >= 16 else {
            throw CommandFailure("The store's secret cannot be read. Check the store with 'cache-dump stats'.")
        }
        let kind = kind ?? (file.leadsNowhere ? .private : .shared)
        let engine = CacheEngine(
            store: store.responses,
            transport: NoTransport(),
            policy: CachePolicy(kind: kind == .shared ? .shared : .private),
            credentialSecret: secret,
            mode: offline ? .offline : file.mode ?? .automatic,
            options: file.options,
            rules: file.rules.isEmpty ? nil : file.rules,
            logger: logger
        )
        engine.selectsByScheme = !file.leadsNowhere && file.clientSchemes.count > 1
        let instant = at?.timestamp(now: SystemWallClock().now())
        let explanation = try await engine.explanation(of: request, in: store, at: instant)
        await engine.shutDown()
        return explanation
    }

    private func write(_ explanation: Explanation, _ asked: ExplainedTarget) throws {
        let text: String
        switch format {
        case .text:
            let words = ExplanationText(explanation: explanation, answer: asked.answer, notes: asked.notes)
            text = words.lines.joined(separator: "\n")
        case .json:
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let report = Report(explanation: explanation, answer: asked.answer)
            text = String(decoding: try encoder.encode(report), as: UTF8.self)
        }
        var output = text + "\n"
        try output.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
    }

    /// An explanation as JSON, with the gateway's own response.
    private struct Report: Encodable {
        let explanation: Explanation
        let answer: GatewayAnswer?

        private enum CodingKeys: CodingKey { case answer }

        func encode(to encoder: any Encoder) throws {
            try explanation.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeIfPresent(answer, forKey: .answer)
        }
    }

    // MARK: The request

    /// Returns the targets to explain.
    ///
    /// - Throws: `ExitCode` if the routes cannot be used. Errors are written to standard error.
    private func explained(by file: Configuration, _ logger: Logger) throws -> [ExplainedTarget] {
        guard !file.leadsNowhere else {
            guard client == nil else { throw CommandFailure("'--client' needs a file with routes, in '--config'.") }
            return try targets().map { ExplainedTarget(target: $0) }
        }
        let gateway = try ConfigurationFile.reporting { try GatewayConfiguration(file) }
        let forecast = AnswerForecast(gateway, rulesHavePaths: file.rules.havePaths, logger: logger)
        return try targets().map { target in
            let head = try head(to: target)
            var request = AnswerForecast.Request(target: target)
            (request.method, request.fields, request.client) = (head.method, head.headerFields, client)
            return ExplainedTarget(request, forecast)
        }
    }

    private func targets() throws -> [TargetURI] {
        do {
            return try TargetURI.readings(of: url)
        } catch {
            throw ValidationError("\(error)")
        }
    }

    private func request(to target: TargetURI) throws -> CacheRequest {
        CacheRequest(head: try head(to: target), body: try body(), principal: principal)
    }

    private func head(to target: TargetURI) throws -> HTTPRequest {
        guard let method = HTTPRequest.Method(method) else {
            throw ValidationError("'--method' must be a token such as GET, not '\(method)'.")
        }
        return HTTPRequest(
            method: method,
            scheme: target.scheme,
            authority: target.authority,
            path: target.requestTarget,
            headerFields: try HTTPFields(lines: headers)
        )
    }
}

extension Explain {
    private func body() throws -> RequestBody? {
        guard let content else { return nil }
        guard let bytes = FileManager.default.contents(atPath: content) else {
            let reason = access(content, R_OK) == 0 ? "It is not a file" : String(cString: strerror(errno))
            throw CommandFailure("The file '\(content)' of '--content' cannot be read: \(reason).")
        }
        return .buffer(ByteBuffer(bytes: bytes))
    }
}

extension CacheEngine {
    /// Explains a request and returns the ID of its key in the engine's store.
    func explanation(
        of request: CacheRequest,
        in store: CacheManager,
        at instant: Timestamp? = nil
    ) async throws -> Explanation {
        var explanation = try await explain(request, at: instant)
        if var key = key(for: request) {
            // A variant in the common partition is listed under that partition's ID.
            if explanation.variants.contains(where: { $0.isSelected && $0.partition == "common" }) {
                key = key.inPartition(.common)
            }
            explanation.key?.shortID = store.shortID(of: key)
        }
        return explanation
    }
}

extension Logger {
    /// A logger that writes warnings and errors to standard error.
    fileprivate static var explaining: Logger {
        var logger = Logger(label: "holdfast") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .warning
        return logger
    }
}
