/// A parser under test. A broken claim ends the fuzzer's process, which libFuzzer reports with the
/// bytes, and fails a replay's test.
struct FuzzTarget: Sendable {
    /// The target's name, and that of its dictionary and seed corpus.
    var name: String
    var run: @Sendable (UnsafeBufferPointer<UInt8>) -> Void

    static let all: [FuzzTarget] = [
        FuzzTarget(name: "cache-control", run: cacheControl),
        FuzzTarget(name: "targeted-fields", run: targetedFields),
        FuzzTarget(name: "http-date", run: httpDate),
        FuzzTarget(name: "entity-tags", run: entityTags),
        FuzzTarget(name: "field-names", run: fieldNames),
        FuzzTarget(name: "age", run: age),
        FuzzTarget(name: "cache-status", run: cacheStatus),
        FuzzTarget(name: "cache-groups", run: cacheGroups),
        FuzzTarget(name: "target-uri", run: targetURI),
        FuzzTarget(name: "reference", run: reference),
        FuzzTarget(name: "cache-key", run: cacheKey),
        FuzzTarget(name: "redaction", run: redaction),
        FuzzTarget(name: "ranges", run: ranges),
        FuzzTarget(name: "policy", run: policy),
        FuzzTarget(name: "stored-head", run: storedHead),
        FuzzTarget(name: "http1-request", run: requests),
        FuzzTarget(name: "http1-response", run: responses),
        FuzzTarget(name: "hpack-blocks", run: headerBlocks),
        FuzzTarget(name: "hpack-fields", run: headerFields),
        FuzzTarget(name: "proxy-header", run: proxyHeader),
        FuzzTarget(name: "rewriting", run: rewriting),
        FuzzTarget(name: "configuration", run: configuration),
        FuzzTarget(name: "url-pattern", run: urlPattern),
        FuzzTarget(name: "resp", run: resp),
        FuzzTarget(name: "log-record", run: logRecord),
        FuzzTarget(name: "log-replies", run: logReplies),
        FuzzTarget(name: "envelope", run: envelope),
        FuzzTarget(name: "canonical-json", run: canonicalJSON),
        FuzzTarget(name: "job-file", run: jobFile),
    ]

    /// The target that the first argument names. It is static, because the driver's callback is a C
    /// function and captures nothing.
    static let chosen = all.first { $0.name == CommandLine.arguments.dropFirst().first }
}
