extension HoldfastError.Code {
    /// The answer to a GraphQL request has errors; see ``HoldfastError/graphQLErrors``. It was not
    /// stored.
    public static let graphQL = HoldfastError.Code("graphQL")
}

extension HoldfastError {
    /// What a GraphQL server found wrong, and what data there is; `nil` for errors of other kinds.
    public var graphQLErrors: GraphQLErrors? { cause as? GraphQLErrors }

    /// Whether an answer says itself that a mutation did nothing: its envelope does, or it has
    /// errors and no data beside.
    var saysNothingWasDone: Bool {
        if code == .graphQL { return graphQLErrors?.hasData != true }
        return code == .envelope
    }
}
