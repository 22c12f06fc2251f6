import HTTPCache

/// The rule about the queries of stored URLs, which hold tokens, names and searches: only a client
/// with the scope `operate` learns them. docs/decisions/0056
///
/// A client with a smaller scope sees each query replaced, and names none where the answer would
/// depend on a part of it: a client that may ask for everything that begins with `?key=a`, then
/// with `?key=b`, reads a query byte by byte. It may purge a whole URL, which it has to know.
extension ControlClient {
    /// Whether it sees the queries of stored URLs.
    var seesQueries: Bool { scope >= .operate }

    /// Checks that a client may name a text by which stored URLs are selected.
    ///
    /// - Parameter field: the place of the text, for the message.
    /// - Throws: ``ControlProblem`` if it reaches into a query and the client sees none.
    func checkMayName(_ text: String, in field: String) throws(ControlProblem) {
        guard !seesQueries, text.contains("?") else { return }
        throw ControlProblem(
            .scopeTooSmall,
            "'\(field)' has a query, and the scope of the token '\(name)' is '\(scope.rawValue)'. "
                + "Remove the query, or use a token with the scope 'operate'.",
            field: field
        )
    }

    /// Checks that a client may select responses like this.
    ///
    /// - Throws: ``ControlProblem`` if the answer would tell it more of a query than a listing.
    func checkMaySelect(_ purge: PurgeRequest) throws(ControlProblem) {
        for (index, prefix) in purge.select.prefixes.enumerated() {
            try checkMayName(prefix, in: "select.prefixes[\(index)]")
        }
        // A purge stands in log and history; a dry run leaves no trace, and may name 1,000 URLs.
        guard purge.dryRun else { return }
        for (index, url) in purge.select.urls.enumerated() { try checkMayName(url, in: "select.urls[\(index)]") }
    }
}
