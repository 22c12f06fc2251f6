public import Holdfast

/// `GET /moments?userID=…`
public struct RESTGetMomentsByUserID: GetMomentsByUserID {
    struct Request: Endpoint {
        typealias Response = MomentsDetails
        let userID: String
        let path = "/moments"
        var task: HTTPTask { .query(["userID": userID]) }
        let tags = [momentsTag]
    }

    /// Creates the request.
    public init() {}

    /// Returns a call whose value is the whole response.
    public func call(userID: String) -> Call<MomentsDetails> { Request(userID: userID).call }
}
