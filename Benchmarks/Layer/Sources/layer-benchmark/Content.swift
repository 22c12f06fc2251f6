/// The fetched content: about 2 KiB of JSON, like a feed.
struct Content: Codable, Sendable {
    struct Moment: Codable, Sendable {
        var id: Int
        var title: String
        var isLiked: Bool
        var createdDate: String
    }

    var name: String
    var moments: [Moment]

    static let json: String = {
        let moments = (0..<20).map {
            #"{"id":\#(1000 + $0),"title":"A moment by the harbour, number \#($0)","isLiked":\#($0 % 2 == 0),"createdDate":"1615899003"}"#
        }
        return #"{"name":"Harbour","moments":[\#(moments.joined(separator: ","))]}"#
    }()
}
