extension HoldfastError.Code {
    /// The response to a GraphQL request has errors: see ``HoldfastError/graphQLErrors``. The
    /// response was not stored.
    public static let graphQL = HoldfastError.Code("graphQL")
}

extension HoldfastError {
    /// The errors of a GraphQL response, along with any data that it has; `nil` for other kinds of
    /// errors.
    public var graphQLErrors: GraphQLErrors? { cause as? GraphQLErrors }

    /// Whether the response reports that a mutation had no effect: its envelope reports a failure,
    /// or it has errors and no data.
    package var reportsNoEffect: Bool {
        if code == .graphQL { return graphQLErrors?.hasData != true }
        return code == .envelope
    }
}
