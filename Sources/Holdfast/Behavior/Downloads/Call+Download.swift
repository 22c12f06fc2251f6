import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

extension Call {
    /// Writes the network's response to a file of any size. Returns when the file is complete and
    /// in place.
    ///
    /// Until then, the content is in `<file>.part` next to the file. Only the file's owner can read
    /// it. If the download breaks off, the call's ``RetryPlan`` determines how often it is
    /// resumed. If the call ends before the content is complete (because of a failure, a
    /// cancellation, or the end of the process), a later call for the same target and file resumes
    /// the download:
    ///
    /// - The call sends `Range` and `If-Range` with the strong validator from `<file>.part.json`.
    /// - After a restart of the machine, it uses only synced content. About the last 8 MiB are not
    ///   synced.
    /// - If the content has changed, or has no strong validator, the download starts over.
    ///
    /// RFC 9110 §14, §13.1.5
    ///
    /// The content is written as it arrives. The request therefore accepts only uncompressed
    /// content, unless the endpoint sets `Accept-Encoding`, and the call's steps and validations do
    /// not apply to the file. The response is not stored, unless the endpoint states its lifetime
    /// (`CacheRequest.Storage.expiring`) and the call uses the store. In that case, the whole
    /// content is always requested.
    /// - Parameter destination: the file; by default, the one in the endpoint's task.
    /// - Throws: `HoldfastError` with code `parametersMissing` if there is no destination; with
    ///   code `fileFailed` if the file cannot be created or written, if it exists and
    ///   ``DownloadDestination/overwrites`` is `false`, or if another download to it is in
    ///   progress; with code `bodyTooLarge` if the content exceeds the `maximumBodyBytes` of the
    ///   endpoint or the call; with any code of another call. `CancellationError`.
    @concurrent
    public func download(to destination: DownloadDestination? = nil) async throws -> DownloadedFile {
        let client = try resolvedClient()
        guard let destination = destination ?? endpoint.task.downloadDestination, !destination.path.isEmpty else {
            throw HoldfastError(
                code: .parametersMissing,
                message:
                    "The download for '\(Swift.type(of: endpoint))' has no destination. Pass a file to 'download(to:)', or name one in the endpoint's task."
            )
        }
        let call = with { $0.acceptsCompression = false }
        return try await client.untilClosed(name) {
            try await client.within(call.timeLimit, of: call) {
                try await client.download(call, to: destination)
            }
        }
    }
}

extension CachingClient {
    /// Downloads an endpoint's content to a file; see ``Call/download(to:)``.
    ///
    /// - Parameters:
    ///   - destination: the file; by default, the one in the endpoint's task.
    ///   - onProgress: see ``CallOptions/onProgress``.
    /// - Throws: `HoldfastError`, as ``Call/download(to:)`` does; `CancellationError` if the
    ///   calling task is canceled.
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
            return try await convertErrors(prepared) {
                guard let target = TargetURI(request: prepared.request.head) else {
                    throw HoldfastError(
                        code: .invalidURL,
                        message: "'\(prepared.target)' is not a valid URL for a download."
                    )
                }
                let download = Download(
                    client: self,
                    call: call,
                    prepared: prepared,
                    target: target,
                    file: file,
                    policy: retryPolicy(of: call, sending: prepared.request.body),
                    retries: prepared.context?.retries ?? RetryCount(),
                    limit: call.options.maximumBodyBytes ?? call.endpoint.maximumBodyBytes.asOptional
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
    /// The destination of a download's content.
    fileprivate var downloadDestination: DownloadDestination? {
        if case .download(let destination, _) = self { destination } else { nil }
    }
}
