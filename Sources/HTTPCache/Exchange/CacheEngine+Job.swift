import HTTPCacheSemantics
import HTTPTypes

/// The exchanges of the engine's job: ``CacheEngine/Parts/job``.
extension CacheEngine {
    /// Reports an exchange of the job when the head of its response is known.
    func reportToJob(_ prepared: PreparedRequest, _ response: CacheResponse) {
        guard let observeJob else { return }
        let ending: JobExchange.Ending
        if let exclusion = prepared.exclusion {
            ending = .excluded(exclusion)
        } else if let refusal = response.outcome.notStored {
            ending = prepared.key == nil && !prepared.method.isSafe ? .unsafe : .passed(refusal)
        } else {
            ending = .kept
        }
        var fields = prepared.usualFields
        if case .kept = ending {
            fields =
                response.stored?.head.selectingFields
                ?? prepared.policy.selectingFields(of: prepared.selecting, for: response.head)
        }
        observeJob(prepared.jobExchange(fields, ending))
    }

    /// Reports an exchange of the job that ended without a response.
    func reportToJob(_ prepared: PreparedRequest, _ error: any Error) {
        // A client that has gone needs no response.
        guard let observeJob, let error = error as? ExchangeError else { return }
        let ending = JobExchange.Ending.failed(code: error.code.description, message: error.message)
        observeJob(prepared.jobExchange(prepared.usualFields, ending))
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
        for key in prepared.lookupKeys { found += try store.resident(key) ?? blockingLookup?(key) ?? [] }
        return OfflineForecast.Subject(prepared, found)
    }
}

extension PreparedRequest {
    fileprivate func jobExchange(_ fields: HTTPFields, _ ending: JobExchange.Ending) -> JobExchange {
        var request = JobRequest(method: method, target: shownTarget, fields: fields)
        if let content = key?.components.content {
            request.content = content.sha256
            request.fields[.contentType] = content.type
            request.fields[.contentEncoding] = content.coding
        }
        return JobExchange(
            ordinal: ordinal,
            request: request,
            asked: withoutCredentials.headerFields,
            ending: ending
        )
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
