extension HoldfastError.Code {
    /// The response to a GraphQL request has errors; see ``HoldfastError/graphQLErrors``. It was
    /// not stored.
    public static let graphQL = HoldfastError.Code("graphQL")
}

extension HoldfastError {
    /// The errors of a GraphQL response, with the data that it has; `nil` for errors of other
    /// kinds.
    public var graphQLErrors: GraphQLErrors? { cause as? GraphQLErrors }

    /// Whether a response states that a mutation did nothing: its envelope reports a failure, or it
    /// has errors and no data.
    var reportsNoEffect: Bool {
        if code == .graphQL { return graphQLErrors?.hasData != true }
        return code == .envelope
    }
}
