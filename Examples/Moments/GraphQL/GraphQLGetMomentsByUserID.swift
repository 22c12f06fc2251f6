public import Holdfast

/// The query `getMomentsDetailsByUserID`.
public struct GraphQLGetMomentsByUserID: GetMomentsByUserID {
    struct Request: Endpoint {
        typealias Response = MomentsDetails
        let userID: String
        let path = "/graphql"
        var task: HTTPTask { .graphQL(GraphQLOperation(Self.document, variables: ["userID": userID])) }
        let valuePath: ValuePath = "data.getMomentsDetailsByUserID"
        // A query is sent as a POST, whose response is stored only because this sets a lifetime.
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

    /// Creates the request.
    public init() {}

    /// Returns a call whose value is at `data.getMomentsDetailsByUserID` in the response.
    public func call(userID: String) -> Call<MomentsDetails> { Request(userID: userID).call }
}

/// The GraphQL selections for the model types.
enum GraphQLFields {
    static let moment = "id userDetails { name avatar } type title url photos createdDate isLiked"
}
