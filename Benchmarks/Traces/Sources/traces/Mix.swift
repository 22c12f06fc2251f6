/// A kind of traffic: requests for the objects of a catalog by rank, and disturbances.
struct Mix {
    var name: String
    /// The number of objects that can be popular.
    var catalog = 60_000
    /// The exponent of Zipf's law.
    var skew = 0.9
    var sizes = Sizes.pages
    /// The share of requests for an object that is never requested again.
    var once = 0.12
    /// The share of requests after which a popular object swaps ranks with any other.
    var drift = 0.002
    /// The share of requests after which a new object replaces a popular one.
    var churn = 0.0
    /// A crawler reads the same unpopular objects once in this many requests; 0 is never.
    var scanPeriod = 0
    var scanLength = 20_000
    /// The number of requests in a day. By night, other objects are popular; 0 is no night.
    var day = 0

    static let all: [Mix] = [
        Mix(name: "web", once: 0.15),
        Mix(name: "web-flat", skew: 0.7, once: 0.1),
        Mix(name: "web-steep", skew: 1.1, once: 0.1),
        Mix(name: "web-drift", once: 0.15, drift: 0.05),
        Mix(name: "api", sizes: .answers),
        Mix(name: "api-steep", skew: 1.1, sizes: .answers, once: 0.1, drift: 0.01),
        Mix(name: "churn", catalog: 20_000, sizes: .answers, once: 0.05, drift: 0, churn: 0.08),
        Mix(name: "churn-web", catalog: 20_000, once: 0.05, drift: 0, churn: 0.08),
        Mix(name: "scans", catalog: 40_000, once: 0.1, scanPeriod: 40_000),
        Mix(name: "daily", catalog: 40_000, once: 0.1, day: 80_000),
        Mix(name: "images", skew: 0.8, sizes: .images, once: 0.1, drift: 0.005),
        Mix(name: "packages", catalog: 40_000, skew: 0.85, sizes: .packages, once: 0.1, drift: 0, churn: 0.01),
    ]
}
