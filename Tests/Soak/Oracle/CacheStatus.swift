/// The gateway's member of a `Cache-Status` field. RFC 9211
struct CacheStatus: Hashable, Sendable {
    var isHit = false
    var forward: String?
    var isCollapsed = false
    var ttl: Int?
    var detail: String?

    /// - Returns: `nil` if it does not begin with the gateway's name.
    init?(_ value: String) {
        let last = value.split(separator: ",").last ?? ""
        let parts = last.split(separator: ";").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        guard parts.first == "holdfast" else { return nil }
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            switch pair[0] {
            case "hit": isHit = true
            case "collapsed": isCollapsed = true
            case "fwd": forward = pair.last
            case "ttl": ttl = pair.last.flatMap { Int($0) }
            case "detail": detail = pair.last
            default: break
            }
        }
    }
}
