import Holdfast

private func operation(_ variables: [String: Any]) -> GraphQLOperation {
    .init("{ a }", variables: RequestParameters(variables))  // says: Write the values in a literal, ["page": page]
}
