extension HoldfastError.Code {
    /// The answer to a GraphQL request has errors; see ``HoldfastError/graphQLErrors``. It was not stored.
    public static let graphQL = HoldfastError.Code(description: "graphQL")
}

extension HoldfastError {
    /// What a GraphQL server found wrong, and what data there is; `nil` for errors of other kinds.
    public var graphQLErrors: GraphQLErrors? { cause as? GraphQLErrors }
}
