import HTTPCache
import HTTPTypes

/// One request that reached an origin, and its result.
final class OriginEntry: @unchecked Sendable {
    // Unchecked: see ``World``.

    enum Kind { case full, part, notModified, head, change, error }
    enum Fate { case waiting, responded, unreachable, cancelled }
    enum Body { case none, open, complete, broken, cutQuietly, left }

    let number: Int
    let call: Int
    let resource: Int
    let host: String
    let method: HTTPRequest.Method
    let request: HTTPFields
    let arrivedTick: Int
    let arrivedAt: Int64
    /// By ``World/elapsed``.
    let arrivedAfter: Int64
    var endedAfter: Int64 = 0
    var fate = Fate.waiting
    var fateTick = 0
    /// When the head was sent, or the failure happened.
    var fateAt: Int64 = 0
    var kind = Kind.full
    var status = 0
    var fields: HTTPFields = [:]
    /// The representation that the origin had in mind.
    var representation: Representation?
    /// Seconds since 1970, from the field; `nil` if there is none.
    var date: Int64?
    var body = Body.none
    /// Whether the origin sent something wrong.
    var isWrong = false
    /// The version differs by `Accept-Language`.
    var varies = false

    init(
        number: Int,
        call: Int,
        resource: Int,
        host: String,
        method: HTTPRequest.Method,
        request: HTTPFields,
        arrivedTick: Int,
        arrivedAt: Int64,
        arrivedAfter: Int64
    ) {
        self.number = number
        self.call = call
        self.resource = resource
        self.host = host
        self.method = method
        self.request = request
        self.arrivedTick = arrivedTick
        self.arrivedAt = arrivedAt
        self.arrivedAfter = arrivedAfter
    }
}

extension OriginEntry: CustomStringConvertible {
    var description: String {
        "entry \(number) call \(call) r\(resource) \(method) ticks \(arrivedTick)-\(fateTick) \(fate) at \(arrivedAt % 10_000_000)-\(fateAt % 10_000_000) "
            + "\(status) \(kind) \(representation?.opaqueTag ?? "") \(isWrong ? "WRONG " : "")body \(body) "
            + fields.filter { ![.sent, .brought, .contentType].contains($0.name) }.map { "\($0.name): \($0.value)" }
            .joined(separator: "; ")
            + " ⇠ " + request.filter { $0.name != .call }.map { "\($0.name): \($0.value)" }.joined(separator: "; ")
    }
}

/// One invalidation of the store, successful or not.
struct Invalidation {
    var scope: Scope
    var effect: InvalidationEffect
    var isRemoval: Bool { effect == .remove }
    var begunTick: Int
    /// `nil` if it failed.
    var endedTick: Int?

    enum Scope {
        case target(String)
        case prefix(String)
        case host(String)
        case tag(String)
        case principal(String)
        case key(resource: String, principal: String?)
        case all
    }
}

extension HTTPField.Name {
    private static func named(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("'\(name)' is no field name.") }
        return name
    }

    /// The origin's own fields: the number of the response that a head comes from, and of the one
    /// that brought the body.
    static let sent = named("X-Sent")
    static let brought = named("X-Body")
    static let call = named("X-Call")
    static let qualified = named("X-Qualified")
    static let targeted = named("CDN-Cache-Control")
    static let groups = named("Cache-Groups")
    static let groupInvalidation = named("Cache-Group-Invalidation")
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, formatted here and not by the tested code. RFC 9110 §5.6.7
func dateText(_ seconds: Int64) -> String {
    let days = Int(seconds / 86_400)
    let rest = Int(seconds % 86_400)
    var year = 1970
    var day = days
    func length(_ year: Int) -> Int { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365 }
    while day >= length(year) {
        day -= length(year)
        year += 1
    }
    let months = [31, length(year) == 366 ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    var month = 0
    while day >= months[month] {
        day -= months[month]
        month += 1
    }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][days % 7]
    let name = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month]
    return
        "\(weekday), \(two(day + 1)) \(name) \(year) \(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60)) GMT"
}
