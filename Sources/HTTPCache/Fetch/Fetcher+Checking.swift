import HTTPCacheSemantics
import HTTPTypes
import Logging
import NIOCore

/// Checking: the callers' checks see the content before it is stored.
extension Fetcher {
    /// Returns whether the callers' checks, if any, allow a body to be stored.
    ///
    /// A check's error belongs to its caller and may contain anything, so only its type is logged.
    func passes(
        _ head: StoredResponseHead,
        _ storing: Storing,
        _ body: InFlightBody,
        _ inFlight: InFlightFetch
    ) async -> Bool {
        let checks = await checks(of: inFlight, for: head)
        guard !checks.isEmpty else { return true }
        do {
            let content: ByteBuffer
            if let combining = storing.combining {
                content = try await combining.content()
            } else {
                content = try await body.content()
            }
            for check in checks {
                guard content.readableBytes <= check.maximumBytes else {
                    throw BodyStreamError.tooLarge(limit: check.maximumBytes)
                }
                try await check.check(HTTPResponse(status: head.status, headerFields: head.fields), content)
            }
            return true
        } catch {
            engine.telemetry.exchanges.recordRefusedContent()
            engine.logger.debug("Content did not pass its check", metadata: ["error.type": "\(type(of: error))"])
            return false
        }
    }

    /// Returns the callers' checks that a response with this head must pass before it is stored.
    private func checks(of inFlight: InFlightFetch, for head: StoredResponseHead) async -> [ContentCheck] {
        guard head.status.code < 400 else { return [] }
        var isReplacing = plan.replacesStored
        // A response may have been stored while this fetch was in progress.
        if !isReplacing, inFlight.hasChecks { isReplacing = await hasStoredSuccess { _ in true } }
        let checks = isReplacing ? inFlight.takeChecks() : request.contentCheck.map { [$0] } ?? []
        return checks.filter { $0.isDue(for: head, isReplacing: isReplacing) }
    }
}
