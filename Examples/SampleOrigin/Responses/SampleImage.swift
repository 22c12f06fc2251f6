/// An SVG image for the feed: a square whose color depends on its name.
struct SampleImage {
    private static let allowed = Array("abcdefghijklmnopqrstuvwxyz0123456789-.".utf8)

    let bytes: [UInt8]

    /// Creates the image with this name; `nil` if the feed does not use such names.
    init?(name: String) {
        guard name.hasSuffix(".svg"), name.utf8.count <= 64, name.utf8.allSatisfy(Self.allowed.contains),
            MomentsFeed.users.contains(where: { name.hasPrefix($0.id + "-") })
        else { return nil }
        let hue = name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 360 }
        let svg = """
            <svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">\
            <rect width="64" height="64" fill="hsl(\(hue),60%,50%)"/></svg>

            """
        bytes = Array(svg.utf8)
    }
}
