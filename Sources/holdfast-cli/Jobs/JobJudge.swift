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
        var parts = CacheEngine.Parts()
        parts.job = JobRun(partition: header.partition.description, header.use)
        let engine = CacheEngine(
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
}
