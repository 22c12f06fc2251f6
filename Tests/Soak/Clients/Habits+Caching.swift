/// Habits that test which responses the gateway serves from its store.
extension Client {
    /// Sends HEAD for a resource without validators that has changed, then reads it.
    mutating func lookBeforeReading() throws {
        let connection = try connect()
        let name = random.number(0...15)
        var steps: [ClientRequest] = [request(.plain, name)]
        if random.chance(0.7) { steps.append(request(.plain, name)) }
        for _ in 0..<random.number(1...2) {
            var look = request(.plain, name, method: "HEAD")
            look.fields.append(("Cache-Control", random.pick(["no-cache", "max-age=0"])))
            steps.append(look)
        }
        steps += [request(.plain, name), request(.plain, name)]
        for step in steps {
            if step.method == "HEAD" { world.change(step.resource) }
            guard try connection.exchange(step) != nil, !connection.isOver else { return }
        }
    }

    /// Changes resources by POST, PUT and DELETE, and fetches them again.
    mutating func change() throws {
        let connection = try connect()
        let name = random.number(0...39)
        for step in 0..<random.number(2...6) where !world.isOver {
            var next = request(.ware, name)
            if step > 0, random.chance(0.4) {
                next = request(.ware, name, method: random.pick(["POST", "PUT", "DELETE"]))
                if next.method != "DELETE" { next.content = content(0...500) }
            } else if random.chance(0.2) {
                next.method = "HEAD"
            }
            guard try connection.exchange(next) != nil, !connection.isOver else { return }
            Clock.pause(Double(random.number(0...300)) / 1_000)
        }
    }

    /// Fetches from origins that send more or less than they announce. Each client has its own
    /// targets, so that no client affects another.
    mutating func trustLiars() throws {
        let connection = try connect()
        let ways =
            habit == .cut
            ? ["silent", "head", "reset", "chunk", "length"] : ["head", "last", "own", "second", "idle", "short"]
        for _ in 0..<random.number(2...5) where !world.isOver {
            let kind = habit == .cut ? "cut" : "lie"
            let target = "/\(kind)/\(random.pick(ways))/\(index)-\(random.number(0...2))"
            guard try connection.exchange(request(target)) != nil, !connection.isOver else { return }
        }
    }

    /// Requests parts of stored and other responses.
    mutating func readRanges() throws {
        let connection = try connect()
        for _ in 0..<random.number(1...5) {
            var next = request(.page, random.number(0...23))
            let first = random.number(0...3_000)
            let range = random.pick(["\(first)-\(first + random.number(0...2_000))", "\(first)-", "0-0"])
            next.fields.append(("Range", "bytes=\(range)"))
            if random.chance(0.3) {
                let version = world.version(next.resource) - random.number(0...1)
                next.fields.append(("If-Range", "\"v\(version)--\""))
            }
            guard try connection.exchange(next) != nil, !connection.isOver else { return }
        }
    }

    /// Conditional requests with the tag of now, or of before.
    mutating func validate() throws {
        let connection = try connect()
        for _ in 0..<random.number(1...5) {
            var next = request(random.pick([.page, .ware]), random.number(0...23))
            let version = max(1, world.version(next.resource) - random.number(0...1))
            next.fields.append(("If-None-Match", "\"v\(version)--\""))
            if random.chance(0.2) { next.fields.append(("Cache-Control", "max-age=0")) }
            guard try connection.exchange(next) != nil, !connection.isOver else { return }
        }
    }

    /// One of several principals, with a token or a cookie.
    mutating func showCredentials() throws {
        let connection = try connect()
        for _ in 0..<random.number(1...5) {
            var next = request(.mine, random.number(0...5))
            let principal = "p\(random.number(0...9))"
            switch random.number(0...4) {
            case 0: break
            case 1, 2:
                next.fields.append(("Authorization", "Bearer \(principal)"))
                next.selector = principal
            default:
                next.fields.append(("Cookie", "sid=\(principal)"))
                next.selector = principal
            }
            guard try connection.exchange(next) != nil, !connection.isOver else { return }
        }
    }

    /// Asks for resources that are there or not, and for some that fail now and then.
    mutating func meetErrors() throws {
        let connection = try connect()
        for _ in 0..<random.number(1...4) {
            let next = request(random.pick([.gone, .flaky]), random.number(0...7))
            guard try connection.exchange(next) != nil, !connection.isOver else { return }
        }
    }
}
