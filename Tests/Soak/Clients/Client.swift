/// One client: conversation after conversation, each by a habit that the seed picks.
struct Client {
    let world: World
    let index: Int
    let habits: [Part]
    let speaksHTTP2: Bool
    /// The connection of this conversation, if it is of HTTP/2.
    var streams: StreamConnection?
    /// Set for each conversation.
    var random: SeededGenerator
    var habit = Part.plain
    private var conversations: UInt64 = 0

    init(_ world: World, index: Int, habits: [Part], speaksHTTP2: Bool) {
        self.world = world
        self.index = index
        self.habits = habits
        self.speaksHTTP2 = speaksHTTP2
        random = SeededGenerator(seed: world.seed, parts: 0xC11E, UInt64(index))
    }

    /// Until the run is over.
    mutating func run() {
        while !world.isOver {
            conversations += 1
            random = SeededGenerator(seed: world.seed, parts: 0xC11E, UInt64(index), conversations)
            guard world.gatewayPort > 0 else {
                Clock.pause(0.02)
                continue
            }
            habit = nextHabit()
            do {
                try converse()
                // The requests beside those of the habit.
                streams?.readAll()
            } catch {
                // The gateway was killed, or is being started: the oracle excuses requests under
                // way.
                Clock.pause(0.02)
            }
            streams = nil
            Clock.pause(Double(random.number(10...150)) / 1_000)
        }
    }

    /// Thirty clients begin every second conversation together.
    private mutating func nextHabit() -> Part {
        let bursts = habits.filter(Part.burstHabits.contains)
        let others = habits.filter { !Part.burstHabits.contains($0) }
        guard !bursts.isEmpty, others.isEmpty || index < Self.bursting && conversations.isMultiple(of: 2) else {
            return random.pick(others.isEmpty ? habits : others)
        }
        let moment = UInt64(Clock.now() / Self.period) + 1
        return bursts[Int(SeededGenerator.mix(world.seed ^ moment) % UInt64(bursts.count))]
    }

    private static let bursting = 30
    /// Seconds from burst to burst.
    static let period = 0.4

    private mutating func converse() throws {
        if speaksHTTP2, try converseInStreams() { return }
        switch habit {
        case .plain: try talkPlainly()
        case .pipeline: try pipeline()
        case .discard: try sendContentInPieces()
        case .early: try takeEarlyHints()
        case .head: try lookBeforeReading()
        case .invalidate: try change()
        case .behind, .cut: try trustLiars()
        case .range: try readRanges()
        case .conditional: try validate()
        case .principal: try showCredentials()
        case .slow: try readSlowly()
        case .abort: try leaveEarly()
        case .expect: try expectContinue()
        case .halfclose: try closeHalf()
        case .upload: try upload()
        case .error: try meetErrors()
        case .burst: try comeTogether()
        case .change, .outage, .kill, .reload, .pause, .dump: break
        }
    }

    // MARK: Helpers of habits

    mutating func connect() throws -> any Conversation {
        speaksHTTP2 ? try connectWithStreams() : try connectWithHTTP1()
    }

    func connectWithHTTP1() throws -> ClientConnection { try ClientConnection(world) }

    /// A request for a resource that other clients request too.
    mutating func request(_ kind: Resource.Kind, _ name: Int, method: String = "GET") -> ClientRequest {
        request("/\(kind.rawValue)/\(name)", method: method)
    }

    /// A request for a target that is requested once.
    mutating func unique(_ kind: Resource.Kind, method: String = "GET") -> ClientRequest {
        let number = world.nextNumber()
        return request("/\(kind.rawValue)/\(index)-\(conversations)-\(number)\(random.number(0...1))", method: method)
    }

    mutating func request(_ target: String, method: String = "GET") -> ClientRequest {
        guard let resource = Resource(target) else { preconditionFailure("No origin has '\(target)'.") }
        return ClientRequest(method: method, resource: resource, number: "\(index)-\(world.nextNumber())", habit: habit)
    }

    /// A request such as anyone makes, of something that is shared.
    mutating func common() -> ClientRequest {
        switch random.number(0...9) {
        case 0...4: request(.page, random.number(0...23))
        case 5, 6: request(.ware, random.number(0...23))
        case 7: request(.tongue, random.number(0...3), language: random.pick(["en", "de", "fr"]))
        case 8: request(.page, random.number(0...23), method: "HEAD")
        default: request(.slow, random.number(0...3))
        }
    }

    mutating func request(_ kind: Resource.Kind, _ name: Int, language: String) -> ClientRequest {
        var request = request(kind, name)
        request.fields.append(("Accept-Language", language))
        request.selector = language
        return request
    }

    mutating func content(_ count: ClosedRange<Int>) -> [UInt8] {
        let count = random.number(count)
        let from = random.number(0...100_000)
        return Array(world.noise.bytes[from..<(from + count)])
    }

    /// Waits for the next of the moments at which bursting clients begin together.
    func waitForBurst() {
        Clock.pause(Self.period - Clock.now().truncatingRemainder(dividingBy: Self.period))
    }
}
