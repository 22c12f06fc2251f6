import Holdfast

private func operation(_ variables: [String: Any]) -> GraphQLOperation {
    GraphQLOperation("{ a }", variables: Parameters(variables))  // says: Write the values in a literal, ["page": page]
}
