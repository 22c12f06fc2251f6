import HTTPCacheSemantics
import HTTPTypes
import Logging
import Tracing

/// The one way to an origin: timed, counted, and noted when it leads nowhere.
extension CacheEngine {
    /// Sends a request and notes whether the origin could be reached.
    ///
    /// - Parameters:
    ///   - prepared: whose timeout counts, and whether the breaker does.
    ///   - isProbed: it may be sent again to look for the origin's return, should it be away.
    ///   - fill: whose task this is; it is ended where the origin takes too long.
    func send(
        _ request: TransportRequest,
        to origin: Origin,
        for prepared: PreparedRequest,
        isProbed: Bool,
        by fill: Fill? = nil
    ) async throws -> TransportResponse {
        var request = request
        request.onWaiting = { [origins] in origins.endUnread(origin) }
        do {
            let response =
                try await isTraced
                ? withSpan("HTTP \(request.head.method)", ofKind: .client) { span in
                    span.attributes["http.request.method"] = request.head.method.rawValue
                    span.attributes["server.address"] = origin.host
                    span.attributes["server.port"] = Int(origin.port)
                    let response = try await redactingErrors(request, for: prepared, by: fill)
                    span.attributes["http.response.status_code"] = response.head.status.code
                    return response
                } : redactingErrors(request, for: prepared, by: fill)
            noteAnswer(of: origin, to: prepared)
            return response
        } catch {
            if !Task.isCancelled || error.isSilence { note(error, of: origin, for: prepared, isProbed: isProbed) }
            throw error
        }
    }

    func noteAnswer(of origin: Origin, to prepared: PreparedRequest) {
        guard origins.answered(origin, { prepared.asked }, at: { clock.now() }) else { return }
        answersAgain(origin)
    }

    private func answersAgain(_ origin: Origin) {
        health.answersAgain(origin)
        logger.notice("Origin answers again", metadata: ["origin": "\(origin)"])
    }

    /// Notes a failure that is the origin's.
    ///
    /// - Parameter isProbed: see ``send(_:to:for:isProbed:by:)``.
    func note(_ error: any Error, of origin: Origin, for prepared: PreparedRequest, isProbed: Bool) {
        guard prepared.usesBreaker, let code = (error as? TransportError)?.code,
            let failure = Breaker.Failure(code)
        else { return }
        let isOpening = origins.failed(
            origin,
            prepared.asked,
            failure,
            // As it came: its rules are applied to it again.
            probe: isProbed ? prepared.presented : nil,
            at: clock.now()
        ) {
            Task { [weak self] in await Self.probe(origin) { self } }
        }
        if isOpening { becameUnreachable(origin, code) }
    }

    private func becameUnreachable(_ origin: Origin, _ code: TransportError.Code? = nil) {
        health.wentAway(origin)
        var metadata: Logger.Metadata = ["origin": "\(origin)"]
        if let code { metadata["error.code"] = "\(code)" }
        logger.notice("Origin cannot be reached; what is stored answers until it can", metadata: metadata)
    }

    /// What is thrown names no secrets: within the span already, because that records it.
    private func redactingErrors(
        _ request: TransportRequest,
        for prepared: PreparedRequest,
        by fill: Fill?
    ) async throws -> TransportResponse {
        do {
            return try await timed(request, within: prepared.hardTimeout(options), by: fill)
        } catch {
            throw prepared.request.secrets?.redacted(error, of: request.head) ?? error
        }
    }

    /// Takes a place among the origin's requests under way, waiting for one no longer than a
    /// response's head may take.
    ///
    /// - Throws: ``OriginRegistry/Overload``, `CancellationError`.
    func enter(_ origin: Origin, _ client: RequestClient, within limit: Duration?) async throws {
        if origins.enterIfFree(origin, client) { return }
        guard let limit else { return try await origins.enter(origin, client) }
        let (origins, sleeper) = (origins, sleeper)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await origins.enter(origin, client)
                return true
            }
            group.addTask {
                try await sleeper.sleep(for: limit)
                return false
            }
            var hasEntered = false
            var failure: any Error = OriginRegistry.Overload.waited(limit)
            do { hasEntered = try await group.next() ?? false } catch { failure = error }
            group.cancelAll()
            // The place may have come in the very moment; one that is not taken here would be lost.
            while let result = await group.nextResult() {
                if case .success(true) = result { hasEntered = true }
            }
            if !hasEntered { throw failure }
        }
    }

    /// Sends a request that must have its response's head within the hard timeout, once its content
    /// was sent. The origin may take as long for each piece of the content, and the client as long
    /// as it likes: see ``OriginWait``.
    ///
    /// - Parameter fill: ended with the time; without one the request is sent by a task of its own,
    ///   because its caller's is not to be ended.
    private func timed(
        _ request: TransportRequest,
        within limit: Duration?,
        by fill: Fill?
    ) async throws -> TransportResponse {
        guard let limit else { return try await transport.send(request) }
        if transport.keepsTimeouts {
            var request = request
            request.headTimeout = limit
            return try await transport.send(request)
        }
        let watch = ExchangeWatch(request, limit, deadlines)
        let watched = watch.watched(request)
        let sent: Result<TransportResponse, any Error>
        if let fill {
            watch.begin { fill.cancel() }
            do { sent = .success(try await transport.send(watched)) } catch { sent = .failure(error) }
        } else {
            let transport = transport
            let sending = Task { try await transport.send(watched) }
            watch.begin { sending.cancel() }
            sent = await withTaskCancellationHandler {
                await sending.result
            } onCancel: {
                sending.cancel()
            }
        }
        // What came in the very moment is of no use: its body would break off.
        guard watch.end() else { throw sent.overload ?? TransportError.silence(of: request.head.origin, limit) }
        return try sent.get()
    }

    /// Looks for an origin's return, ever more rarely, until anybody has an answer of it.
    ///
    /// The engine is held only while a probe is under way, so that one that was let go of ends.
    private static func probe(_ origin: Origin, _ engine: () -> CacheEngine?) async {
        while let delay = engine()?.nextProbe(of: origin) {
            guard let sleeper = engine()?.sleeper, (try? await sleeper.sleep(for: delay)) != nil,
                let engine = engine(), !Task.isCancelled
            else { return }
            await engine.probe(origin)
        }
    }

    private func nextProbe(of origin: Origin) -> Duration? {
        guard let delay = origins.nextProbe(origin, jitter: jitter()) else { return nil }
        // In the other modes nothing is sent, so nothing is in a hurry.
        return mode == .automatic ? delay : max(delay, options.breaker.initialBackOff)
    }

    /// Asks once: for what failed last where no connection came about, so that the response renews
    /// what is stored; else for the head of something else.
    private func probe(_ origin: Origin) async {
        // Offline no socket is opened, not even to look; in the other modes the breaker counts for
        // nobody.
        guard mode == .automatic else { return }
        if let request = origins.probe(origin, among: probeRequests(of: origin)) {
            await sendProbe(request, to: origin)
        }
        // What a probe finds that was ended says nothing: somebody had a response.
        guard !Task.isCancelled else { return }
        if origins.probeFailed(origin, at: clock.now()) { becameUnreachable(origin) }
    }

    private func sendProbe(_ request: CacheRequest, to origin: Origin) async {
        var request = request
        request.preference = .networkOnly
        request.isProbe = true
        // Its body, where it is stored, is stored without a reader.
        do {
            _ = try await respond(to: request)
        } catch let error as ExchangeError where (error.cause as? TransportError)?.code == .invalidRequest {
            // No way leads there any more, so nobody waits for its return.
            if origins.forget(origin) { health.answersAgain(origin) }
        } catch {}
    }

    /// Requests that any origin can answer, if only with 404: of two, because one of them may be
    /// the target that fails.
    private func probeRequests(of origin: Origin) -> [(request: CacheRequest, target: Int)] {
        ["/", "/robots.txt"].compactMap { path in
            let request = CacheRequest(
                head: HTTPRequest(method: .head, scheme: origin.scheme, authority: origin.authority, path: path)
            )
            return prepare(request).map { (request, $0.asked.target) }
        }
    }
}

extension PreparedRequest {
    /// The request as a breaker tells it from others.
    var asked: AskedTarget {
        var hasher = Hasher()
        hasher.combine(target)
        let name = hasher.finalize()
        hasher = Hasher()
        hasher.combine(name)
        hasher.combine(method)
        hasher.combine(presented.head.headerFields)
        if request.isContentKeyed { hasher.combine(key) }
        return AskedTarget(target: name, request: hasher.finalize())
    }
}

extension Breaker.Failure {
    /// How a request failed that ended so; `nil` where the origin has no part in it: a failure of
    /// this system's own must never count.
    fileprivate init?(_ code: TransportError.Code) {
        switch code {
        case .connect, .connectTimeout, .nameResolution, .tls: self = .connection
        case .connectionClosed: self = .hangUp
        case .timeout: self = .silence
        default: return nil
        }
    }
}

extension TransportError {
    /// The hard timeout's.
    fileprivate static func silence(of origin: String, _ limit: Duration) -> TransportError {
        TransportError(
            code: .timeout,
            message: "'\(origin)' sent no response within \(limit). Raise the hard timeout if it needs longer."
        )
    }
}

extension Result<TransportResponse, any Error> {
    /// It waited for a connection all the time: then the origin was not silent, but never asked.
    fileprivate var overload: (any Error)? {
        guard case .failure(let error) = self, error.isOverload else { return nil }
        return error
    }
}

extension Error {
    /// Whether the origin was silent for too long. The task may be cancelled for that, and is no
    /// caller's.
    var isSilence: Bool { (self as? TransportError)?.code == .timeout }

    /// Whether no connection was free for too long, which is no caller's doing either.
    var isOverload: Bool { (self as? TransportError)?.code == .overloaded }
}
