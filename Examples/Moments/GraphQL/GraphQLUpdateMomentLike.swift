public import Holdfast

/// The mutation `updateMomentLike`.
public struct GraphQLUpdateMomentLike: UpdateMomentLike {
    struct Request: Endpoint {
        typealias Response = Moment
        let momentID: String
        let isLiked: Bool
        let path = "/graphql"
        var task: HTTPTask {
            .graphQL(GraphQLOperation(Self.document, variables: ["momentID": momentID, "isLiked": isLiked]))
        }
        let valuePath: ValuePath = "data.updateMomentLike"
        let isIdempotent = true
        let invalidates: [StoreInvalidation] = [.tag(momentsTag)]

        static let document = """
            mutation Like($momentID: ID!, $isLiked: Boolean!) {
              updateMomentLike(momentID: $momentID, isLiked: $isLiked) { \(GraphQLFields.moment) }
            }
            """
    }

    /// Creates the request.
    public init() {}

    /// Returns a call whose value is at `data.updateMomentLike` in the response.
    public func call(momentID: String, isLiked: Bool) -> Call<Moment> {
        Request(momentID: momentID, isLiked: isLiked).call
    }
}
