import HTTPCache
import HTTPCacheSemantics
import HTTPTypes

extension Call {
    /// Writes the network's answer to a file, whatever its size, and answers when it is whole and
    /// in its place.
    ///
    /// Meanwhile it grows in `<file>.part` beside it, which its owner alone may read. Where the
    /// download breaks off, the call's ``RetryPolicy`` says how often it goes on; where the call
    /// ends without the whole (by a failure, a cancellation, the end of the process) a later one
    /// for the same target and file goes on: with `Range` and `If-Range` on the strong validator
    /// that is kept in `<file>.part.json`. After a restart of the machine only what was synced
    /// counts, which is all but the last 8 MiB at most. Where the content has changed meanwhile, or
    /// has no such validator, it begins anew. RFC 9110 §14, §13.1.5
    ///
    /// What comes is written as it comes: uncompressed content is asked for, and steps and
    /// validations are not run. It is not stored, unless the endpoint says for how long
    /// (`CacheRequest.Storage.expiring`) and the call uses the store; then it is always asked for
    /// whole.
    /// - Parameter destination: in place of the one that the endpoint's task names.
    /// - Throws: ``HoldfastError``: `fileFailed` where the file cannot be made or written, or
    ///   stands there already; `bodyTooLarge` beyond the endpoint's or the call's own
    ///   `maximumBodyBytes`. `CancellationError`.
    @concurrent
    public func download(to destination: DownloadDestination? = nil) async throws -> DownloadedFile {
        let client = try resolvedClient()
        guard let destination = destination ?? endpoint.task.downloadDestination, !destination.path.isEmpty else {
            throw HoldfastError(
                code: .parametersMissing,
                message:
                    "The download for '\(Swift.type(of: endpoint))' has no file to go to. Name one in the call or in the endpoint's task."
            )
        }
        let call = with { $0.acceptsCompression = false }
        return try await client.within(options.timeout ?? endpoint.timeout, of: self) {
            try await client.download(call, to: destination)
        }
    }
}

extension CachingClient {
    /// Writes an endpoint's content to a file; see ``Call/download(to:)``.
    ///
    /// - Parameter onProgress: see ``CallOptions/onProgress``.
    public func download(
        _ endpoint: some Endpoint,
        to destination: DownloadDestination? = nil,
        onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws -> DownloadedFile {
        try await call(endpoint).with { $0.onProgress = onProgress }.download(to: destination)
    }

    fileprivate func download<Value: Sendable>(
        _ call: Call<Value>,
        to destination: DownloadDestination
    ) async throws -> DownloadedFile {
        let file = try await PartFile.open(destination)
        defer { file.release() }
        do {
            var prepared = try await prepare(call, for: .network)
            if case .byResponse = prepared.request.storage { prepared.request.storage = .never }
            return try await converting(prepared) {
                guard let target = TargetURI(request: prepared.request.head) else {
                    throw HoldfastError(code: .invalidURL, message: "'\(prepared.target)' is no target of a download.")
                }
                let download = Download(
                    client: self,
                    call: call,
                    prepared: prepared,
                    target: target,
                    file: file,
                    policy: retryPolicy(of: call, sending: prepared.request.body),
                    limit: call.options.maximumBodyBytes ?? call.endpoint.maximumBodyBytes
                )
                let (length, resumedFrom, response) = try await download.run()
                if response.source == .network { await invalidate(after: call) }
                return DownloadedFile(
                    path: destination.path,
                    length: length,
                    resumedFrom: resumedFrom,
                    head: response.head,
                    source: response.source
                )
            }
        } catch {
            file.end(after: error)
            throw error
        }
    }
}

extension HTTPTask {
    /// Where a download's content goes.
    fileprivate var downloadDestination: DownloadDestination? {
        if case .download(let destination, _) = self { destination } else { nil }
    }
}
