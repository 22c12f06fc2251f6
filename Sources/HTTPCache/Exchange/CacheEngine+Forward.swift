package import HTTPCacheSemantics
import HTTPTypes
import Logging

extension CacheEngine {
    /// Sends a request to the origin, bypassing the store, because no stored response may be served
    /// for its method or for the request itself.
    ///
    /// If an unsafe method succeeds, the stored responses for its target are invalidated before the
    /// caller sees the response. RFC 9111 §4.4
    func forward(_ prepared: PreparedRequest) async throws -> CacheResponse {
        let (request, target) = (prepared.request, prepared.target)
        if let refusal = prepared.refusalToForward(mode: prepared.mode) { throw refusal }
        let response: TransportResponse
        do {
            let origin = self.origin(of: target)
            let sending = try await prepared.sending().withContentBegun(for: request.client)
            try await enter(origin, request.client, within: prepared.hardTimeout(options))
            defer { origins.leave(origin, request.client) }
            response = try await send(sending, to: origin, for: prepared, isProbed: false)
        } catch let overload as OriginRegistry.Overload {
            throw ExchangeError.overloaded(request, overload, options)
        } catch {
            try Task.checkCancellation()
            // The request was waiting when the cache was shut down.
            if error is CancellationError { throw ExchangeError.shutDown(request) }
            throw prepared.refusal(after: error, at: clock.now()) ?? error
        }
        if !request.isContentKeyed {
            await invalidate(after: response.head, to: prepared)
        }
        return CacheResponse(
            head: response.head,
            body: response.body,
            source: .network,
            ageMilliseconds: 0,
            outcome: CacheOutcome(forward: request.forwardReason, notStored: request.isKeyed ? .bypass : .method),
            forecastSubject: OfflineForecast.Subject(prepared, [])
        )
    }

    /// Invalidates the stored responses that a successful unsafe method may have changed, before
    /// its caller sees the response: the target, the targets that `Location` and `Content-Location`
    /// name, and the groups that the response names. RFC 9111 §4.4, RFC 9875 §3
    ///
    /// A DELETE removes the stored responses of its own target, but not those of other targets that
    /// it names.
    private func invalidate(after response: HTTPResponse, to prepared: PreparedRequest) async {
        let (request, target) = (prepared.request.head, prepared.target)
        let targets = policy.invalidatedTargets(by: response, to: request, target: target)
        var changes: [(scope: InvalidationScope, effect: InvalidationEffect)] = []
        if targets.contains(target), prepared.request.invalidatesTarget {
            let isDeleted = request.method == .delete && response.status.kind == .successful
            let effect: InvalidationEffect = isDeleted ? .remove : .mark(.unsafeMethod)
            changes += scopes(of: [target], for: prepared, isOwn: true).map { ($0, effect) }
        }
        var others = scopes(of: targets.filter { $0 != target }, for: prepared, isOwn: false)
        if options.usesCacheGroups {
            others += target.tags(ofGroups: policy.invalidatedGroups(by: response, to: request)).map(
                InvalidationScope.tag
            )
        }
        changes += others.map { ($0, .mark(.unsafeMethod)) }
        let now = clock.now()
        var done: Set<InvalidationScope> = []
        for (scope, effect) in changes where done.insert(scope).inserted {
            await recovering("invalidate", .invalidate) { try await self.store.invalidate(scope, effect, at: now) }
        }
    }

    /// Returns the scopes to invalidate for the given targets: each target as received, as sent,
    /// and as keyed, in all partitions.
    ///
    /// - Parameters:
    ///   - prepared: the request that names the targets, or whose response names them.
    ///   - isOwn: whether the targets are the request's own.
    func scopes(of named: [TargetURI], for prepared: PreparedRequest, isOwn: Bool) -> [InvalidationScope] {
        var targets = named
        if let secrets = prepared.request.secrets ?? job?.secrets {
            // Targets of other requests are also keyed without secrets. In addition, the store
            // keeps a record of each invalidation, which must not contain a secret.
            targets = targets.map { secrets.withheld(from: $0).target }
        }
        if prepared.rules != nil, !targets.isEmpty {
            // Cover the target both as received and as sent, each in its keyed form.
            if isOwn { targets.append(prepared.shownTarget) }
            let override = prepared.presented.overrides
            var keyed: [TargetURI] = []
            for target in targets.flatMap({ keyedTargets(of: $0, like: prepared.request.head, overriding: override) })
            where !keyed.contains(target) {
                keyed.append(target)
            }
            targets = keyed
        }
        return targets.map(InvalidationScope.target)
    }

    /// Performs a store operation. If it fails, the failure is counted and logged, and the exchange
    /// continues without it.
    ///
    /// - Parameters:
    ///   - kind: the kind of operation, for the failure count.
    ///   - context: the exchange's context, for an operation that reads for it.
    ///   - suspends: see ``ExecutionContext/perform(suspends:_:)``.
    @discardableResult
    func recovering<Value: Sendable>(
        _ operation: StaticString,
        _ kind: StoreOperation = .write,
        in context: ExecutionContext = .system,
        suspends: Bool = false,
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        do {
            return try await context.perform(suspends: suspends, body)
        } catch {
            telemetry.exchanges.recordStoreFailure(kind)
            logger.warning("Store failed", metadata: ["store.operation": "\(operation)", "error": "\(error)"])
            return nil
        }
    }
}

extension PreparedRequest {
    /// Returns whether the request must not be sent to an origin.
    func mayOnlyUseStored(mode: OfflineMode) -> Bool {
        mode == .offline || request.preference == .storedOnly || policy.isOnlyIfCached(request.head)
    }

    /// Returns the error for a request that only the origin may answer but that must not be sent,
    /// because of the mode or the request itself; `nil` if it may be sent.
    package func refusalToForward(mode: OfflineMode) -> ExchangeError? {
        guard mayOnlyUseStored(mode: mode) else { return nil }
        return ExchangeError(
            code: .offlineMiss,
            message: "'\(request.head.method) \(request.redactedTarget)' needs the origin, but "
                + (mode == .offline ? "the mode is 'offline'." : "the request may use only the store."),
            status: 504,
            outcome: CacheOutcome(forward: request.forwardReason, detail: mode == .offline ? .offline : nil)
        )
    }

    /// Returns the error for a request that only the origin may answer, after the origin failed to
    /// respond.
    package func refusal(after error: any Error, at now: Timestamp) -> ExchangeError? {
        let machine = ReuseMachine(self, now: now)
        guard case .refuse(var refusal) = machine.originFailed(error) else { return nil }
        refusal.outcome.forward = request.forwardReason
        return refusal
    }
}

extension CacheRequest {
    /// The reason that the request is forwarded, if no stored response may be served for it.
    package var forwardReason: CacheOutcome.ForwardReason { isKeyed ? .bypass : .method }

    /// Returns the transport request for this request, with another head (for example, with the
    /// cache's validators).
    func sending(_ head: HTTPRequest) -> TransportRequest {
        var sending = TransportRequest(
            head: head,
            body: body?.stream,
            onInformational: onInformational,
            context: context
        )
        sending.originReport = originReport
        sending.isProbe = isProbe
        sending.upgrade = upgrade
        if let isIdempotent { sending.isIdempotent = isIdempotent }
        return sending
    }
}
