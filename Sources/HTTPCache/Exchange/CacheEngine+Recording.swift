import HTTPCacheSemantics
import HTTPTypes
import Logging
import Tracing

/// Counting, tracing and logging. Every exchange is recorded here when it ends, whatever its
/// driver.
extension CacheEngine {
    func record(_ response: CacheResponse, to prepared: PreparedRequest, inSpan: Bool = false) {
        reportToJob(prepared, response)
        record(ExchangeEnding(response), response.head.status.code, prepared.method, inSpan: inSpan) {
            response.outcome.cacheStatus()
        }
    }

    /// - Parameters:
    ///   - inSpan: whether the exchange has a span; if not, it gets one here.
    ///   - cacheStatus: called only if it is recorded.
    func record(
        _ ending: ExchangeEnding,
        _ status: Int,
        _ method: HTTPRequest.Method,
        inSpan: Bool = false,
        _ cacheStatus: () -> String
    ) {
        telemetry.exchanges.record(ending)
        if isTraced, !inSpan { withSpan(Self.spanName) { $0.describe(method, status, cacheStatus) } }
        guard logger.logLevel <= .debug else { return }
        logger.debug(
            "Exchange ended",
            metadata: [
                "http.method": "\(method)", "http.status": "\(status)", "cache.status": "\(cacheStatus())",
            ]
        )
    }

    func record(_ error: any Error, of request: CacheRequest) {
        telemetry.exchanges.record(ExchangeEnding(error))
        logger.debug("Exchange failed", metadata: ["http.method": "\(request.head.method)", "error": "\(error)"])
    }

    /// Runs an exchange in a task, in a span if a tracer is installed, and records how it ended.
    func recording(
        _ prepared: PreparedRequest,
        _ exchange: () async throws -> CacheResponse
    ) async throws -> CacheResponse {
        do {
            guard !inFlightFetches.isClosed else { throw ExchangeError.shutDown(prepared.presented) }
            let response =
                try await isTraced
                ? withSpan(Self.spanName) { span in
                    let response = try await exchange()
                    span.describe(prepared.method, response.head.status.code) { response.outcome.cacheStatus() }
                    return response
                } : exchange()
            record(response, to: prepared, inSpan: true)
            return response
        } catch {
            let error = observeJob == nil ? error : await reportToJob(prepared, error)
            record(error, of: prepared.presented)
            throw error
        }
    }

    private static let spanName = "cache exchange"
}

extension Span {
    /// - Parameter cacheStatus: called only if the span records it.
    fileprivate func describe(_ method: HTTPRequest.Method, _ status: Int, _ cacheStatus: () -> String) {
        attributes["http.request.method"] = method.rawValue
        guard isRecording else { return }
        attributes["http.response.status_code"] = status
        attributes["cache.status"] = cacheStatus()
    }
}
