import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Holdfast
import HoldfastConfiguration

/// Judges jobs: whether they would run from a store, with the rules of a configuration.
struct JobJudge {
    let store: CacheManager
    let file: Configuration
    let logger: Logger

    /// Judges a job's requests, in pieces.
    ///
    /// - Returns: the job's first line and the forecast; `nil` if there is no such job.
    func forecast(of name: JobName, at instant: Timestamp) async throws -> (JobFile.Header, JobForecast)? {
        guard let header = try store.jobs.header(of: name) else { return nil }
        let engine = engine(for: header, header.use)
        var forecast = JobForecast(at: instant)
        let outcome = Result {
            _ = try store.jobs.read(name) { line in
                guard case .entry(let entry) = line else { return }
                forecast.take(entry, try engine.subject(of: entry.request))
            }
        }
        await engine.shutDown()
        try outcome.get()
        return (header, forecast)
    }

    /// Judges requests of a job, each for itself.
    ///
    /// - Parameter use: the use with which they are replayed.
    /// - Returns: why each would be refused; `nil` for one that would be answered.
    func verdicts(
        on entries: [JobFile.Entry?],
        of header: JobFile.Header,
        _ use: JobRun.Use,
        at instant: Timestamp
    ) async throws -> [JobForecast.Refused?] {
        let engine = engine(for: header, use)
        let outcome = Result {
            try entries.map { entry in
                var forecast = JobForecast(at: instant)
                if let entry { forecast.take(entry, try engine.subject(of: entry.request)) }
                return forecast.refused.first
            }
        }
        await engine.shutDown()
        return try outcome.get()
    }

    private func engine(for header: JobFile.Header, _ use: JobRun.Use) -> CacheEngine {
        var parts = CacheEngine.Parts()
        parts.job = JobRun(partition: header.partition.description, use)
        return CacheEngine(
            store: store.responses,
            transport: NoTransport(),
            policy: CachePolicy(kind: .shared),
            credentialSecret: store.credentialSecret,
            mode: .offline,
            options: file.options,
            rules: file.rules.isEmpty ? nil : file.rules,
            parts: parts,
            logger: logger
        )
    }
}
