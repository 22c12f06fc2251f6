public import Holdfast

/// `PUT /moments/{id}/like` likes a moment; `DELETE` removes the like.
public struct RESTUpdateMomentLike: UpdateMomentLike {
    struct Request: Endpoint {
        typealias Response = Moment
        let momentID: String
        let isLiked: Bool
        var path: URLPath { "/moments/\(momentID)/like" }
        var method: HTTPRequest.Method { isLiked ? .put : .delete }
        let isIdempotent = true
        let invalidates: [StoreInvalidation] = [.tag(momentsTag)]
    }

    /// Creates the request.
    public init() {}

    /// Returns a call whose value is the whole response.
    public func call(momentID: String, isLiked: Bool) -> Call<Moment> {
        Request(momentID: momentID, isLiked: isLiked).call
    }
}
