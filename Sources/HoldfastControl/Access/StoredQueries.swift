import HTTPCache

/// Queries of stored URLs can contain tokens, names and searches, so only clients with the scope
/// `operate` see them. docs/decisions/0056
///
/// Clients with a smaller scope see queries replaced. They also may not name a query where the
/// response would depend on part of it: a client that can list everything that begins with
/// `?key=a`, then `?key=b`, can read a query byte by byte. Such a client may still purge a complete
/// URL, which it must know.
extension ControlClient {
    /// Whether the client sees the queries of stored URLs.
    var seesQueries: Bool { scope >= .operate }

    /// Checks that a client may use a text to select stored URLs.
    ///
    /// - Parameter field: where the text is in the request, for the message.
    /// - Throws: ``ControlProblem`` if the text includes part of a query and the client may not see
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

    /// Checks that a client may select these responses.
    ///
    /// - Throws: ``ControlProblem`` if the response would reveal more of a query than a listing
    ///   does.
    func checkMaySelect(_ purge: PurgeRequest) throws(ControlProblem) {
        for (index, prefix) in purge.select.prefixes.enumerated() {
            try checkMayName(prefix, in: "select.prefixes[\(index)]")
        }
        // A purge appears in the log and the history. A dry run leaves no trace, and may name 1,000
        // URLs.
        guard purge.dryRun else { return }
        for (index, url) in purge.select.urls.enumerated() { try checkMayName(url, in: "select.urls[\(index)]") }
    }
}
