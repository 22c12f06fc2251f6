import Foundation
import HTTPCache
import HTTPCacheOperations
import HTTPTypes
import HoldfastMetrics
import Hummingbird
import Logging
import NIOCore

#if !canImport(Hummingbird)
    #error("The module HoldfastControl needs the trait 'Gateway' of the package 'holdfast': remove 'traits: []'.")
#endif

/// Serves the operations of the control plane. ``operations`` lists them.
struct ControlResponder: HTTPResponder {
    let operations: any CacheOperations
    let coordinator: PurgeCoordinator
    let loops: LoopWatch
    let phase: @Sendable () -> ServingPhase
    let listening: @Sendable () -> ListeningAddresses
    let about: ProgramReport
    let registry: MetricsRegistry
    let clock: any WallClock
    let logger: Logger
    /// The store's statistics.
    let store: StoreWatch
    let recorder: TrafficRecorder
    let streams: EventStreams
    let page: PageAccess
    let assets: PageAssets
    var entryPoint: ControlEntryPoint
    /// The operations that this entry point serves.
    var served = operations + Self.page

    /// One operation: its path, its method, the least scope that allows it, and its action.
    struct Operation: Sendable {
        /// The operation's path. `{id}` matches any segment that is not empty.
        let path: String
        let method: HTTPRequest.Method
        let scope: ControlScope
        /// Whether the operation needs no token.
        var isOpen = false
        /// Whether `Host` may be any IP address: for programs that find the gateway by its address,
        /// and for operations that only read the gateway's own state.
        var acceptsAddresses = false
        let perform: @Sendable (ControlResponder, Request, ControlContext) async throws -> Response

        /// Returns whether a request's path belongs to the operation.
        func covers(_ path: String) -> Bool {
            guard self.path.contains("{id}") else { return self.path == path }
            let own = self.path.split(separator: "/", omittingEmptySubsequences: false)
            let parts = path.split(separator: "/", omittingEmptySubsequences: false)
            return own.count == parts.count && zip(own, parts).allSatisfy { $0 == "{id}" ? !$1.isEmpty : $0 == $1 }
        }

        /// The methods that the operation accepts. A GET operation that needs no token also accepts
        /// HEAD.
        var methods: [HTTPRequest.Method] { isOpen && method == .get ? [.get, .head] : [method] }

        /// Checks that a client's scope allows the operation.
        func admit(_ client: ControlClient) throws(ControlProblem) {
            if client.scope >= scope { return }
            throw ControlProblem(
                .scopeTooSmall,
                "The scope of the token '\(client.name)' is '\(client.scope.rawValue)', but \(method) '\(path)' needs "
                    + "'\(scope.rawValue)'. Use another token, or set the scope in 'control.tokens'.",
                field: "Authorization"
            )
        }
    }

    static let operations =
        healthAndPurges + mode + drains + staleness + status + configuration + responses + logLevel + pins + refreshes
        + metrics + sessions + overview + traffic + recordings

    private static let healthAndPurges: [Operation] = [
        Operation(path: "/livez", method: .get, scope: .read, acceptsAddresses: true) { responder, _, _ in
            try responder.respond(with: await responder.liveness())
        },
        Operation(path: "/readyz", method: .get, scope: .read, acceptsAddresses: true) { responder, _, _ in
            try responder.respond(with: await responder.readiness())
        },
        Operation(path: "/healthz", method: .get, scope: .read, acceptsAddresses: true) { responder, _, _ in
            try responder.respond(with: await responder.readiness().adding(await responder.liveness()))
        },
        Operation(path: "/v1/purges", method: .post, scope: .purge) { try await $0.purge($1, $2) },
        Operation(path: "/v1/purges", method: .get, scope: .read) { try await $0.history($1, $2) },
    ]

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        var response = try await outcome(of: request, context)
        // A request whose content may be unread must not keep the connection open.
        if request.hasContent, response.status.code >= 400 || [.get, .delete].contains(request.method) {
            response.headers[.connection] = "close"
            SlowClients.close(context.channel)
        }
        return response.withContent(for: request.method)
    }

    private func outcome(of request: Request, _ context: ControlContext) async throws -> Response {
        do {
            var context = context
            let here = served.filter { $0.covers(request.uri.path) }
            let operation = here.first { $0.methods.contains(request.method) }
            if operation?.isOpen == true {
                try entryPoint.admitWithoutToken(request.head)
            } else {
                context.client = try await entryPoint.admit(
                    request.head,
                    from: context.channel,
                    acceptsAddresses: operation?.acceptsAddresses ?? entryPoint.servesOnlyMetrics
                )
            }
            guard !here.isEmpty else { throw notFound(request.uri.path) }
            guard let operation else {
                return methodNotAllowed(request, allowed: here.flatMap(\.methods).map(\.rawValue))
            }
            try operation.admit(context.client)
            return try await operation.perform(self, request, context)
        } catch let problem as ControlProblem {
            return Self.response(problem, problem.status == 401 ? [.wwwAuthenticate: "Bearer"] : [:])
        } catch let wait as TokenVerifier.Wait {
            return Self.response(wait.problem, [.retryAfter: "\(wait.seconds)"])
        } catch let full as EventStreams.Full {
            return Self.response(full.problem, [.retryAfter: "\(full.seconds)"])
        } catch let wait as PurgeCoordinator.Wait {
            return Self.response(wait.problem, [.retryAfter: "\(wait.seconds)"])
        } catch is CancellationError {
            return Self.response(.ended)
        }
    }

    // MARK: Operations

    /// The maximum length of a request's content, in bytes, unless the operation states another
    /// limit.
    static let maximumContent = 64 << 10

    /// Reads the content of a request that changes something.
    ///
    /// - Throws: ``ControlProblem``
    static func content(
        of request: Request,
        upTo limit: Int = maximumContent,
        within time: Duration = SlowClients.contentLimit
    ) async throws -> [UInt8] {
        try BrowserGuard.checkContent(request.head)
        // Reject query parameters: a client that puts `dryRun` in the query must not purge.
        try QueryMembers.none(in: request)
        do {
            return try await SlowClients.content(of: request, upTo: limit, within: time)
        } catch is NIOTooManyBytesError {
            throw ControlProblem.tooLarge(limit)
        }
    }

    private func purge(_ request: Request, _ context: ControlContext) async throws -> Response {
        let json = try await Self.content(of: request, upTo: PurgeRequest.maximumBytes)
        let key = try IdempotencyKey(request.head.values(of: "idempotency-key"), of: json)
        let purge = try PurgeRequest(json: json)
        try context.client.checkMaySelect(purge)
        let (coordinator, client) = (coordinator, context.client.name)
        guard purge.dryRun else {
            let result = try await coordinator.purge(purge, key: key, by: client)
            let acknowledgement = await PurgeAcknowledgement(result, of: purge, operations.sharing)
            return try Self.response(acknowledgement.isReached ? .ok : .accepted, acknowledgement.result)
        }
        // A dry run changes nothing, so it is canceled if the client disconnects. Each dry run
        // adds a callback to its connection, so the connection closes after the response.
        let result = try await ControlContext.perform(until: context.channel.closeFuture) {
            try await coordinator.purge(purge, key: key, by: client)
        }
        return try Self.response(.ok, result, [.connection: "close"])
    }

    private func history(_ request: Request, _ context: ControlContext) async throws -> Response {
        var query = try QueryMembers(request)
        let counts = 1...Int64(PurgeHistory.pageLimit)
        let last = try query.number("last", counts)
        // With `last`, the parameters `after` and `limit` are not read, and so are rejected as
        // unknown.
        let after = last == nil ? try query.number("after", 0...Int64.max) : nil
        let limit = last == nil ? try query.number("limit", counts) : nil
        try query.end(known: last == nil ? ["after", "limit", "last"] : ["last"])
        let page =
            if let last { await coordinator.purges(last: Int(last)) } else {
                await coordinator.purges(after: after ?? 0, atMost: Int(limit ?? counts.upperBound))
            }
        return try Self.response(.ok, context.client.seesQueries ? page : page.withoutQueries)
    }

    private func liveness() async -> HealthReport { .liveness(stuckLoops: await loops.stuckLoops()) }

    private func readiness() async -> HealthReport {
        .readiness(
            phase(),
            await operations.storeCondition(),
            operations.unreachableOrigins,
            operations.modeState,
            fleet: operations.fleetCondition
        )
    }

    // MARK: Responses

    private func respond(with report: HealthReport) throws -> Response {
        try Self.response(.init(code: report.httpStatus), report)
    }

    private func notFound(_ path: String) -> ControlProblem {
        let isElsewhere = entryPoint.servesOnlyMetrics && (Self.operations + Self.page).contains { $0.covers(path) }
        let advice =
            isElsewhere
            ? " The control plane serves it: use the control socket or the address in 'control.listen'." : ""
        return ControlProblem(
            .notFound,
            "'\(ControlProblem.shown(path))' is unknown\(isElsewhere ? " here" : ""). Known paths: \(Set(served.map(\.path)).sorted().joined(separator: ", ")).\(advice)",
            field: "path",
            value: path
        )
    }

    private func methodNotAllowed(_ request: Request, allowed: [String]) -> Response {
        let list = allowed.sorted().joined(separator: ", ")
        let method = request.method.rawValue
        let problem = ControlProblem(
            .methodNotAllowed,
            "'\(request.uri.path)' does not support '\(ControlProblem.shown(method))'. Use \(list).",
            field: "method",
            value: method
        )
        return Self.response(problem, [.allow: list])
    }

    static func response(_ problem: ControlProblem, _ fields: HTTPFields = [:]) -> Response {
        let json = (try? encoder.encode(problem)) ?? Data()
        return response(.init(code: problem.status), "application/problem+json", json, fields)
    }

    static func response(
        _ status: HTTPResponse.Status,
        _ value: some Encodable,
        _ fields: HTTPFields = [:]
    ) throws -> Response {
        response(status, "application/json", try encoder.encode(value), fields)
    }

    /// Returns a response with the given content, which caches must not store.
    ///
    /// - Parameter end: text to append to the content.
    static func response(
        _ status: HTTPResponse.Status,
        _ type: String,
        _ content: Data,
        _ fields: HTTPFields = [:],
        ending end: String = "\n"
    ) -> Response {
        var fields = fields
        fields[.contentType] = type
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        let bytes = ByteBuffer(bytes: Array(content) + Array(end.utf8))
        return Response(status: status, headers: fields, body: .init(byteBuffer: bytes))
    }

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension Response {
    /// Returns the response for a request method. A response to HEAD has no content. RFC 9110
    /// §9.3.2
    func withContent(for method: HTTPRequest.Method) -> Response { method == .head ? createHeadResponse() : self }
}

extension Request {
    /// Whether the request's head announces content.
    fileprivate var hasContent: Bool {
        headers[.transferEncoding] != nil || headers[.contentLength].map { $0 != "0" } ?? false
    }
}
