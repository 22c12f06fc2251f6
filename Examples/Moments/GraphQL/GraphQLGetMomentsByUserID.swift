public import Holdfast

/// The query `getMomentsDetailsByUserID`.
public struct GraphQLGetMomentsByUserID: GetMomentsByUserID {
    struct Request: Endpoint {
        typealias Response = MomentsDetails
        let userID: String
        let path = "/graphql"
        var task: HTTPTask { .graphQL(GraphQLOperation(Self.document, variables: ["userID": userID])) }
        let valuePath: ValuePath = "data.getMomentsDetailsByUserID"
        // A query is sent by POST. Its response is stored only because this sets a lifetime.
        let storage = CacheRequest.Storage.expiring(.after(.minutes(1)))
        let tags = [momentsTag]

        static let document = """
            query Moments($userID: ID!) {
              getMomentsDetailsByUserID(userID: $userID) {
                userDetails { id name avatar backgroundImage }
                moments { \(GraphQLFields.moment) }
              }
            }
            """
    }

    /// The request.
    public init() {}

    /// The feed, found at `data.getMomentsDetailsByUserID`.
    public func call(userID: String) -> Call<MomentsDetails> { Request(userID: userID).call }
}

/// The fields of our types in GraphQL.
enum GraphQLFields {
    static let moment = "id userDetails { name avatar } type title url photos createdDate isLiked"
}
