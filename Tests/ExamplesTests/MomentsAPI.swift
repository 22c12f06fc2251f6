import Holdfast
import HoldfastTesting
import MomentsExample

/// The two APIs for the same data.
enum MomentsAPI: CaseIterable, CustomStringConvertible {
    case rest, graphQL

    static let origin = "https://moments.example"

    var toggles: FeatureToggles { FeatureToggles(usesGraphQL: self == .graphQL) }

    var description: String { self == .rest ? "REST" : "GraphQL" }

    /// The URL of the harbour's feed.
    var feedTarget: String { Self.origin + (self == .rest ? "/moments?userID=harbour" : "/graphql") }

    /// The URL that likes the second moment.
    var likeTarget: String { Self.origin + (self == .rest ? "/moments/harbour-2/like" : "/graphql") }

    /// The harbour's feed of two moments, fresh for a minute.
    func feed(isLiked: Bool = false) -> ScriptedTransport.Reply {
        let feed = """
            {"userDetails": {"id": "harbour", "name": "Harbour", "avatar": "/a", "backgroundImage": "/b"},
             "moments": [\(Self.moment(isLiked: isLiked)),
              {"id": "harbour-1", "userDetails": {"name": "Harbour", "avatar": "/a"}, "type": "URL",
               "url": "https://harbour.example/log/1", "photos": [], "createdDate": "2025-12-01T08:00:00Z"}]}
            """
        let body = self == .rest ? feed : #"{"data": {"getMomentsDetailsByUserID": \#(feed)}}"#
        return .ok(body, fields: [.cacheControl: "max-age=60"])
    }

    /// The response to a like.
    func liked() -> ScriptedTransport.Reply {
        let moment = Self.moment(isLiked: true)
        let body = self == .rest ? moment : #"{"data": {"updateMomentLike": \#(moment)}}"#
        return .ok(body, fields: [.cacheControl: "no-store"])
    }

    /// The response if there is no such user.
    func unknownUser() -> ScriptedTransport.Reply {
        switch self {
        case .rest: .status(.notFound, #"{"error": {}}"#)
        case .graphQL:
            .ok(
                #"{"data": {"getMomentsDetailsByUserID": null}, "errors": [{"message": "?", "extensions": {"code": "NOT_FOUND"}}]}"#
            )
        }
    }

    private static func moment(isLiked: Bool) -> String {
        """
        {"id": "harbour-2", "userDetails": {"name": "Harbour", "avatar": "/a"}, "type": "PHOTOS", "title": "Day 2",
         "photos": ["/1", "/2"], "createdDate": "2025-12-02T08:00:00Z", "isLiked": \(isLiked)}
        """
    }
}
