import HTTPCacheSemantics
import HTTPTypes
import Logging
import Tracing

/// Requests to origins, with their timeouts, metrics and failures. The engine has no other way to
/// reach an origin.
extension CacheEngine {
    /// Sends a request and records whether the origin was reachable.
    ///
    /// - Parameters:
    ///   - prepared: provides the timeout, and whether the breaker applies.
    ///   - isProbed: whether the request may be repeated as a probe if the origin is unreachable.
    ///   - inFlight: the fetch that owns this task. It is ended if the origin takes too long.
    func send(
        _ request: TransportRequest,
        to origin: Origin,
        for prepared: PreparedRequest,
        isProbed: Bool,
        by inFlight: InFlightFetch? = nil
    ) async throws -> TransportResponse {
        var request = prepared.editingInterims(request)
        request.onWaiting = { [origins] in origins.endUnread(origin) }
        do {
            let response =
                try await isTraced
                ? withSpan("HTTP \(request.head.method)", ofKind: .client) { span in
                    span.attributes["http.request.method"] = request.head.method.rawValue
                    span.attributes["server.address"] = origin.host
                    span.attributes["server.port"] = Int(origin.port)
                    let response = try await redactingErrors(request, for: prepared, by: inFlight)
                    span.attributes["http.response.status_code"] = response.head.status.code
                    return response
                } : redactingErrors(request, for: prepared, by: inFlight)
            noteResponse(of: origin, to: prepared)
            return prepared.edited(noting(response, of: origin, to: prepared))
        } catch {
            if !Task.isCancelled || error.isSilence { note(error, of: origin, for: prepared, isProbed: isProbed) }
            throw error
        }
    }

    func noteResponse(of origin: Origin, to prepared: PreparedRequest) {
        if prepared.request.isProbe { telemetry.origins.probed(origin, .answered) }
        let now = clock.now()
        contacts.note(origin, at: now)
        guard origins.answered(origin, { prepared.asked }, at: { now }) else { return }
        logger.notice("Origin responds again", metadata: ["origin": "\(origin)"])
    }

    /// Records a failure if the origin is the cause.
    ///
    /// - Parameter isProbed: see ``send(_:to:for:isProbed:by:)``.
    func note(_ error: any Error, of origin: Origin, for prepared: PreparedRequest, isProbed: Bool) {
        guard prepared.usesBreaker, let error = error as? TransportError, !error.leavesServersUnasked else { return }
        let now = clock.now()
        let cause = FailureCause(error)
        guard let failure = Breaker.Failure(error.code) else { return noteWithoutBreaker(error, of: origin, at: now) }
        let isOpening = origins.failed(
            origin,
            prepared.asked,
            failure,
            // Use the request as received, because the rules are applied to it again.
            probe: isProbed ? prepared.presented : nil,
            authority: prepared.presented.head.authority,
            isUnknownName: isUnknownName(error, origin, prepared.target),
            at: now
        ) {
            Task { [weak self] in await Self.probe(origin) { self } }
        }
        let hasChanged = origins.noteCause(cause, of: origin, at: now)
        let isNews = origins.noteFailure(cause, of: origin, at: now)
        if isOpening {
            becameUnreachable(origin)
        } else if hasChanged {
            logger.notice("Origin unreachable for another reason", metadata: Self.metadata(origin, cause))
        } else if isNews, !origins.hasOutage(origin) {
            // One target, or a mistyped name, may be at fault, so this is no outage.
            logger.notice("Request to an origin failed", metadata: Self.metadata(origin, cause))
        }
    }

    /// Whether a failure says only that a name does not resolve that clients chose. An origin that
    /// has responded had a name, so for such an origin, it is an outage.
    private func isUnknownName(_ error: TransportError, _ origin: Origin, _ target: TargetURI) -> Bool {
        error.code == .nameResolution && contacts.last(with: origin) == nil
            && targetOrigins?.isChosenByClients(target) == true
    }

    /// Returns an origin's response. If its content is cut short, that is recorded when it is read.
    func noting(_ response: TransportResponse, of origin: Origin, to prepared: PreparedRequest) -> TransportResponse {
        guard response.body.whole == nil, prepared.usesBreaker else { return response }
        let sent = prepared.request.secrets.map { ($0, prepared.sending().head) }
        var response = response
        response.body = response.body.noting { [weak self] error in
            let redacted = sent.map { $0.redacted(error, of: $1) } ?? error
            guard let self, let failure = redacted as? TransportError else { return }
            // The origin has responded, so this is no evidence that it is unreachable.
            noteWithoutBreaker(failure, of: origin, at: clock.now())
        }
        return response
    }

    /// Records a failure that says nothing about whether the origin is reachable, if the origin is
    /// the cause.
    private func noteWithoutBreaker(_ error: TransportError, of origin: Origin, at now: Timestamp) {
        let isInvalid = error.code == .protocolViolation
        guard isInvalid || Breaker.Failure(error.code) != nil else { return }
        let cause = FailureCause(error)
        guard origins.noteFailure(cause, of: origin, at: now) else { return }
        logger.notice(
            isInvalid ? "Origin's response is not valid HTTP" : "Request to an origin failed",
            metadata: Self.metadata(origin, cause)
        )
    }

    private func becameUnreachable(_ origin: Origin) {
        telemetry.origins.becameUnreachable(origin)
        logger.notice(
            "Origin unreachable; serving stored responses until it responds",
            metadata: Self.metadata(origin, origins.cause(of: origin))
        )
    }

    private static func metadata(_ origin: Origin, _ cause: FailureCause?) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["origin": "\(origin)"]
        guard let cause else { return metadata }
        metadata["origin.reason"] = "\(cause.reason)"
        metadata["error"] = "\(cause.message)"
        return metadata
    }

    /// Sends a request, and removes secrets from its errors. Runs within the span, because the span
    /// records errors.
    private func redactingErrors(
        _ request: TransportRequest,
        for prepared: PreparedRequest,
        by inFlight: InFlightFetch?
    ) async throws -> TransportResponse {
        do {
            return try await timed(request, within: prepared.hardTimeout(options), by: inFlight)
        } catch {
            throw prepared.request.secrets?.redacted(error, of: request.head) ?? error
        }
    }

    /// Takes a permit for a request to the origin. Waits at most for `limit`, the time within which
    /// a response's head must arrive.
    ///
    /// - Throws: ``OriginRegistry/Overload``, `CancellationError`.
    func enter(_ origin: Origin, _ client: RequestClient, within limit: Duration?) async throws {
        if origins.enterIfFree(origin, client) { return }
        guard let limit else { return try await origins.enter(origin, client) }
        let entered: Void? = try await sleeper.limit(limit) { [origins] in try await origins.enter(origin, client) }
        if entered == nil { throw OriginRegistry.Overload.waited(limit) }
    }

    /// Sends a request whose response's head must arrive within the hard timeout after its content
    /// was sent. The origin has the same time to accept each piece of the content. The client may
    /// take any time to send the content: see ``OriginWait``.
    ///
    /// - Parameter inFlight: the fetch that is ended when the time is up. If it is `nil`, a new
    ///   task sends the request, because the caller's task must not be ended.
    private func timed(
        _ request: TransportRequest,
        within limit: Duration?,
        by inFlight: InFlightFetch?
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
        if let inFlight {
            watch.begin { inFlight.cancel() }
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
        if watch.end() { return try sent.get() }
        // A request that waited for a connection the whole time was never sent, so the origin did
        // not fail to respond.
        if case .failure(let error) = sent, error.isOverload { throw error }
        // A response that arrives at this very moment cannot be used, because its body would be cut
        // short.
        throw TransportError(
            code: .timeout,
            message: "'\(request.head.origin)' sent no response within \(limit). "
                + "Raise the hard timeout if it needs longer."
        )
    }

    /// Probes an origin at growing intervals, until any request gets a response from it.
    ///
    /// The engine is retained only during a probe, so that an engine that is no longer used can be
    /// released.
    private static func probe(_ origin: Origin, _ engine: () -> CacheEngine?) async {
        var isAllowed = true
        while let delay = engine()?.nextProbe(of: origin, isAllowed: isAllowed) {
            guard let sleeper = engine()?.sleeper, (try? await sleeper.sleep(for: delay)) != nil,
                let engine = engine(), !Task.isCancelled
            else { return }
            isAllowed = await engine.probe(origin)
        }
    }

    /// - Parameter isAllowed: whether the mode allowed the last probe.
    private func nextProbe(of origin: Origin, isAllowed: Bool) -> Duration? {
        guard var delay = origins.nextProbe(origin, jitter: jitter()) else { return nil }
        // The first probe is sent at once. Without a delay, so would the next be, until the mode
        // changes.
        if !isAllowed { delay = max(delay, options.breaker.initialBackOff) }
        origins.willProbe(origin, at: clock.now().adding(delay))
        return delay
    }

    /// Sends one probe. If no connection could be opened, it repeats the last failed request, so
    /// that the response renews the stored response. Otherwise it requests the head of a different
    /// target.
    ///
    /// - Returns: whether the mode allowed a probe.
    private func probe(_ origin: Origin) async -> Bool {
        // In `offline` mode, no socket is opened, not even for a probe. In the other modes, the
        // breaker does not apply.
        guard mode == .automatic else { return false }
        var hasFailed = false
        if let request = origins.probe(origin, among: probeRequests(of: origin)) {
            guard leads(request, to: origin) else {
                origins.forget(origin, at: clock.now())
                return true
            }
            guard mode(for: request) != .offline else { return false }
            hasFailed = await !sendProbe(request, to: origin)
        }
        // A canceled probe is not evidence of a failure, because it is canceled when another
        // request gets a response.
        guard !Task.isCancelled else { return true }
        if hasFailed { telemetry.origins.probed(origin, .failed) }
        if origins.probeFailed(origin, at: clock.now()) { becameUnreachable(origin) }
        return true
    }

    /// Whether a probe's target still has this origin. After a reload, another origin may get the
    /// requests for a client's host.
    private func leads(_ probe: CacheRequest, to origin: Origin) -> Bool {
        guard let targetOrigins, let target = TargetURI(request: probe.head) else { return true }
        return targetOrigins.origin(of: target) == origin
    }

    /// - Returns: whether there was a response.
    private func sendProbe(_ request: CacheRequest, to origin: Origin) async -> Bool {
        var request = request
        request.preference = .networkOnly
        request.isProbe = true
        // If the response is stored, its body is stored without a reader.
        do {
            _ = try await respond(to: request)
            return true
        } catch let error as ExchangeError where (error.cause as? TransportError)?.code == .invalidRequest {
            // The target is no longer valid, so no request can wait for the origin's return.
            origins.forget(origin, at: clock.now())
        } catch {}
        return false
    }

    /// Returns two requests that any origin can answer, if only with 404. There are two, because
    /// one of their targets may be the target that fails.
    private func probeRequests(of origin: Origin) -> [(request: CacheRequest, target: Int)] {
        let authority = origins.authority(for: origin) ?? origin.authority
        return ["/", "/robots.txt"].compactMap { path in
            let request = CacheRequest(
                head: HTTPRequest(method: .head, scheme: origin.scheme, authority: authority, path: path)
            )
            return prepare(request).map { (request, $0.asked.target) }
        }
    }
}

extension PreparedRequest {
    /// The identity of the request for a breaker.
    package var asked: AskedTarget {
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

extension Error {
    /// Whether the origin did not respond in time. The task may have been canceled for that reason
    /// rather than by a caller.
    var isSilence: Bool { (self as? TransportError)?.code == .timeout }

    /// Whether no caller wants the response anymore.
    var isCancellation: Bool { self is CancellationError || (self as? TransportError)?.code == .cancelled }

    /// Whether no connection became free in time. Again, the task may not have been canceled by a
    /// caller.
    var isOverload: Bool { (self as? TransportError)?.code == .overloaded }
}
