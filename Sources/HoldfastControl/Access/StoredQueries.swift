import HTTPCache

/// Queries of stored URLs can contain tokens, names and searches, so only clients with the scope
/// `operate` see them. docs/decisions/0056
///
/// Clients with a smaller scope see a placeholder instead of each query. They also must not select
/// by part of a query: a client that can list all URLs that begin with `?key=a`, then with
/// `?key=b`, can read a query byte by byte. Such a client may still purge a complete URL, which it
/// must already know.
extension ControlClient {
    /// Whether the client may see the queries of stored URLs.
    var seesQueries: Bool { scope >= .operate }

    /// Checks that the client may use a text to select stored URLs.
    ///
    /// - Parameter field: the field of the request that contains the text, for the message.
    /// - Throws: ``ControlProblem`` if the text contains a query and the client must not see
    ///   queries.
    func checkMayName(_ text: String, in field: String) throws(ControlProblem) {
        guard !seesQueries, text.contains("?") else { return }
        throw ControlProblem(
            .scopeTooSmall,
            "'\(field)' has a query, and the scope of the token '\(name)' is '\(scope.rawValue)'. "
                + "Remove the query, or use a token with the scope 'operate'.",
            field: field
        )
    }

    /// Checks that the client may select the responses of a purge.
    ///
    /// - Throws: ``ControlProblem`` if the result would reveal more of a query than a listing does.
    func checkMaySelect(_ purge: PurgeRequest) throws(ControlProblem) {
        for (index, prefix) in purge.select.prefixes.enumerated() {
            try checkMayName(prefix, in: "select.prefixes[\(index)]")
        }
        // A purge appears in the log and the history, but a dry run leaves no trace and can probe
        // 1,000 URLs at once.
        guard purge.dryRun else { return }
        for (index, url) in purge.select.urls.enumerated() { try checkMayName(url, in: "select.urls[\(index)]") }
    }
}
