import HTTPCacheSemantics
import HTTPTypes

/// The exchanges of the engine's job: ``CacheEngine/Parts/job``.
extension CacheEngine {
    /// Reports an exchange of the job when the head of its response is known.
    func reportToJob(_ prepared: PreparedRequest, _ response: CacheResponse) {
        // Before the client has the cookies.
        if let job, prepared.isInJob, let identity = prepared.identityInJob {
            job.noteCookies(of: identity, prepared.request.head, response.head.headerFields)
        }
        guard let observeJob else { return }
        let ending: JobExchange.Ending
        if let exclusion = prepared.exclusion {
            ending = .excluded(exclusion)
        } else if let refusal = response.outcome.notStored {
            ending = prepared.key == nil && !prepared.method.isSafe ? .unsafe : .passed(refusal)
        } else {
            ending = .kept
        }
        let fields: HTTPFields
        if case .kept = ending {
            fields =
                response.stored?.head.selectingFields
                ?? prepared.policy.selectingFields(of: prepared.selecting, for: response.head)
        } else {
            fields = prepared.usualFields
        }
        // The exchange that stored the response has reported its content.
        var exchange = prepared.jobExchange(fields, ending, job, isOutlined: response.source == .network)
        exchange.cookies = response.head.headerFields[fields: .setCookie].compactMap(\.setCookieName)
        observeJob(exchange)
    }

    /// Reports an exchange of the job that ended without a response.
    ///
    /// - Returns: the error, with the request's URL at its origin, and the nearest recorded request
    ///   if it is looked for.
    func reportToJob(_ prepared: PreparedRequest, _ error: any Error) async -> any Error {
        // A client that has gone needs no response.
        guard let observeJob, var refusal = error as? ExchangeError else { return error }
        let ending = JobExchange.Ending.failed(code: refusal.code.description, message: refusal.message)
        var exchange = prepared.jobExchange(prepared.usualFields, ending, job, isOutlined: true)
        exchange.asked = prepared.withoutCredentials.headerFields
        observeJob(exchange)
        refusal.jobTarget = exchange.request.target.redacted
        if let nearestInJob { refusal.nearest = await nearestInJob(exchange) }
        return refusal
    }

    /// Returns a request of a job, and the responses that are stored for it, to judge it: see
    /// ``OfflineForecast/Subject/offlineRefusal(at:)``.
    ///
    /// If the store has to read its disk, the calling thread waits.
    package func subject(of request: JobRequest) throws -> OfflineForecast.Subject {
        guard let prepared = prepare(request.cacheRequest) else {
            throw ExchangeError.invalidTarget(request.cacheRequest)
        }
        var found: [StoredResponse] = []
        // With a digest that the rules do not key, the key is not that of a replay.
        let keys = prepared.request.hasOtherDigest(prepared.settings) ? [] : prepared.lookupKeys
        for key in keys { found += try store.resident(key) ?? blockingLookup?(key) ?? [] }
        return OfflineForecast.Subject(prepared, found)
    }
}

extension PreparedRequest {
    /// - Parameter isOutlined: whether the exchange has the outline of the content.
    fileprivate func jobExchange(
        _ fields: HTTPFields,
        _ ending: JobExchange.Ending,
        _ job: JobRun?,
        isOutlined: Bool
    ) -> JobExchange {
        var request = JobRequest(method: method, target: shownTarget, fields: fields)
        if self.request.hasKeyContent, let content = key?.components.content {
            request.content = content.sha256
            if method == .post { request.form = settings?.contentForm }
            if isOutlined, let job {
                request.members = self.request.jsonOutline(settings, salt: job.partition)
            }
            request.fields[.contentType] = content.type
            request.fields[.contentEncoding] = content.coding
        }
        return JobExchange(ordinal: ordinal, request: request, ending: ending)
    }

    /// The fields by which responses usually vary.
    fileprivate var usualFields: HTTPFields {
        let asked = withoutCredentials.headerFields
        var fields = HTTPFields()
        for name in [HTTPField.Name.accept, .acceptEncoding, .acceptLanguage] {
            let lines = asked[values: name]
            if !lines.isEmpty { fields[name] = lines.joined(separator: ", ") }
        }
        return fields
    }
}
