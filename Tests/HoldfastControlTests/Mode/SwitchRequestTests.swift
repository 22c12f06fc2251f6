import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import Testing

@testable import HoldfastControl

/// Modes of origins and routes, and drains, as clients send them.
@Suite(.timeLimit(.minutes(20))) struct SwitchRequestTests {
    private static let now = Timestamp(seconds: 1_795_613_400)

    private static var names: SubjectNames {
        var switches = Switches()
        _ = switches.set(
            Switch(
                .route(name: "removed"),
                mode: .offline,
                until: now.adding(.seconds(60)),
                since: now,
                client: "uid 1"
            )
        )
        return SubjectNames(
            origins: ["https://a.example", "http://b.example:8080"],
            routes: ["api"],
            servers: ["https://a.example": ["10.0.0.7:443", "https://m.example/pub"]],
            switches: switches
        )
    }

    @Test(
        arguments: [
            (nil, nil, nil), ("https://a.example", nil, .origin(url: "https://a.example")),
            ("https://A.example:443/", nil, .origin(url: "https://a.example")),
            ("http://b.example:8080", nil, .origin(url: "http://b.example:8080")), (nil, "api", .route(name: "api")),
            (nil, "removed", .route(name: "removed")),
        ] as [(String?, String?, Switch.Subject?)]
    )
    func modeIsOfAKnownOriginOrRoute(_ origin: String?, _ route: String?, _ expected: Switch.Subject?) throws {
        #expect(try Self.names.subject(origin: origin, route: route) == expected)
    }

    @Test(
        arguments: [
            ("https://c.example", nil, "origin"), ("https://a.example/v1", nil, "origin"), ("a.example", nil, "origin"),
            (nil, "API", "route"), (nil, "1", "route"), ("https://a.example", "api", "route"),
        ] as [(String?, String?, String)]
    )
    func unknownSubjectIsRejected(_ origin: String?, _ route: String?, _ field: String) throws {
        let problem = try #require(throws: ControlProblem.self) {
            try Self.names.subject(origin: origin, route: route)
        }
        #expect(problem.status == 400 && problem.field == field, "\(problem)")
    }

    /// Mutant: the known names are not listed.
    @Test(
        arguments: [
            ("a.example", nil, "Add the scheme: 'https://a.example'."),
            ("B.example:8080", nil, "Add the scheme: 'http://b.example:8080'."),
            ("https://a.example/v1?token=x", nil, "Leave out the path: 'https://a.example'."),
            ("http://b.example", nil, "Origins: 'http://b.example:8080', 'https://a.example'."),
            (nil, "API", "Routes: 'api'."),
        ] as [(String?, String?, String)]
    )
    func unknownSubjectIsCorrected(_ origin: String?, _ route: String?, _ advice: String) throws {
        let problem = try #require(throws: ControlProblem.self) {
            try Self.names.subject(origin: origin, route: route)
        }
        #expect(problem.detail.hasSuffix(". \(advice)"), "\(problem)")
    }

    @Test func unknownRouteGetsAShortList() throws {
        let routes = (0..<30).map { "r\($0)" } + ["shop"]
        let names = SubjectNames(origins: [], routes: routes, servers: [:], switches: Switches())
        let problem = try #require(throws: ControlProblem.self) { try names.subject(origin: nil, route: "shopp") }
        #expect(problem.detail.contains("Routes: 'shop', 'r0', 'r1',"), "\(problem)")
        #expect(problem.detail.hasSuffix(", and 21 more."), "\(problem)")
    }

    @Test func drainIsOfAKnownServer() throws {
        let server = try Self.names.subject(server: "10.0.0.7:443", of: "https://a.example/")
        #expect(server == .server(name: "10.0.0.7:443", origin: "https://a.example"))
        let bare = try Self.names.subject(server: "m.example/pub", of: "https://a.example")
        #expect(bare == .server(name: "https://m.example/pub", origin: "https://a.example"))
        let unknown = try #require(throws: ControlProblem.self) {
            try Self.names.subject(server: "10.0.0.9:443", of: "https://a.example")
        }
        #expect(unknown.field == "server" && unknown.detail.contains("one of '10.0.0.7:443', 'https://m.example/pub'"))
        let single = try #require(throws: ControlProblem.self) {
            try Self.names.subject(server: "b.example:8080", of: "http://b.example:8080")
        }
        #expect(single.field == "origin" && single.detail.contains("switch its mode to 'offline'"))
    }

    @Test func drainNeedsAnEnd() throws {
        let subject = Switch.Subject.server(name: "s", origin: "https://a.example")
        func drain(_ json: String) throws -> Switch {
            try DrainRequest(json: Array(json.utf8)).drain(of: subject, at: Self.now, by: "uid 1")
        }
        let made = try drain(#"{"origin": "o", "server": "s", "for": "30m", "reason": "kernel"}"#)
        let until = Self.now.adding(.seconds(1800))
        #expect(made == Switch(subject, until: until, since: Self.now, reason: "kernel", client: "uid 1"))
        for (json, field) in [
            (#"{"origin": "o", "server": "s"}"#, "until"), (#"{"server": "s", "for": "1h"}"#, "origin"),
            (#"{"origin": "o", "for": "1h"}"#, "server"), (#"{"origin": "o", "server": "s", "for": "31d"}"#, "for"),
            (#"{"origin": "o", "server": "s", "for": "1h", "mode": "offline"}"#, "mode"),
        ] {
            let problem = try #require(throws: ControlProblem.self) { try drain(json) }
            #expect(problem.status == 400 && problem.field == field, "\(json) \(problem)")
        }
    }

    /// Mutant: `drained-origin-has-no-reason`.
    @Test func reportsStateEndReasonAndClient() throws {
        var switches = Switches()
        for (subject, mode) in [
            (.origin(url: "https://a.example"), .offline), (.server(name: "s", origin: "https://a.example"), nil),
        ] as [(Switch.Subject, OfflineMode?)] {
            let until = Self.now.adding(.seconds(60))
            _ = switches.set(
                Switch(subject, mode: mode, until: until, since: Self.now, reason: "why", client: "uid 1")
            )
        }
        let names = SubjectNames(
            origins: ["https://a.example"],
            routes: [],
            servers: ["https://a.example": ["s"]],
            switches: switches
        )
        let mode = ModeReport(ModeState(configured: .automatic), names)
        #expect(mode.mode == .automatic && mode.until == nil && mode.switches?.count == 1)
        #expect(mode.switches?.first?.origin == "https://a.example" && mode.switches?.first?.mode == .offline)
        let drain = try #require(DrainsReport(names).drains.first)
        #expect(drain.server == "s" && drain.mode == nil && drain.reason == "why" && drain.by == "uid 1")
        #expect(mode.switches?.first?.noEffect == nil && drain.noEffect == nil)
        let none = SubjectNames(origins: [], routes: [], servers: [:], switches: Switches())
        #expect(ModeReport(ModeState(configured: .automatic), none).switches == nil)
        var condition = OriginCondition(origin: "https://a.example")
        condition.servers = [
            .init(name: "s", isAside: false, responses: 0, failures: 0, isDrained: true),
            .init(name: "t", isAside: false, responses: 0, failures: 0),
        ]
        let origins = OriginsReport([condition], .automatic, drains: DrainsReport(names).drains)
        #expect(origins.origins.first?.servers?.map { $0.drained?.reason } == ["why", nil])
        #expect(origins.origins.first?.reason == nil)
        // The other server fails.
        condition.cause = FailureCause(reason: "refused", message: "Refused.")
        let failing = OriginsReport([condition], .automatic, drains: DrainsReport(names).drains).origins.first
        #expect(
            failing?.reason == "refused" && failing?.message?.hasPrefix("Refused. 1 of 2 servers are drained") == true
        )
        condition.servers[1].isDrained = true
        let drained = OriginsReport([condition], .automatic, drains: DrainsReport(names).drains).origins.first
        #expect(
            drained?.reason == "drained"
                && drained?.message?.contains(EndTime.text(Self.now.adding(.seconds(60)))) == true
        )
    }

    /// The strictest mode wins. Mutant: `looser-mode-seems-to-be-in-force`.
    @Test(arguments: OfflineMode.allCases, OfflineMode.allCases)
    func looserModeOfARouteHasNoEffect(mode: OfflineMode, gatewayMode: OfflineMode) throws {
        var switches = Switches()
        let until = Self.now.adding(.seconds(60))
        _ = switches.set(Switch(.route(name: "api"), mode: mode, until: until, since: Self.now, client: "uid 1"))
        let names = SubjectNames(origins: [], routes: ["api"], servers: [:], switches: switches)
        let report = try #require(ModeReport(ModeState(configured: gatewayMode), names).switches?.first)
        let order: [OfflineMode] = [.online, .automatic, .preferStored, .offline]
        let rank = try #require(order.firstIndex(of: mode))
        let gatewayRank = try #require(order.firstIndex(of: gatewayMode))
        let expected =
            rank < gatewayRank ? "the gateway's mode is '\(gatewayMode.rawValue)', which is stricter" : nil
        #expect(report.noEffect == expected)
    }

    @Test(
        arguments: [
            (.route(name: "api"), nil), (.route(name: "removed"), "no route has this name"),
            (.origin(url: "https://a.example"), nil),
            (.origin(url: "https://c.example"), "no route leads to this origin"),
            (.server(name: "10.0.0.7:443", origin: "https://a.example"), nil),
            (.server(name: "10.0.0.9:443", origin: "https://a.example"), "the origin has no such server"),
            (.server(name: "10.0.0.7:443", origin: "http://b.example:8080"), "the origin has no such server"),
        ] as [(Switch.Subject, String?)]
    )
    func reportsWhySwitchHasNoEffect(_ subject: Switch.Subject, _ expected: String?) {
        var mode: OfflineMode? = .offline
        if case .server = subject { mode = nil }
        var switches = Switches()
        _ = switches.set(
            Switch(subject, mode: mode, until: Self.now.adding(.seconds(60)), since: Self.now, client: "uid 1")
        )
        let (origins, routes, servers) = (Self.names.origins, Self.names.routes, Self.names.servers)
        let names = SubjectNames(origins: origins, routes: routes, servers: servers, switches: switches)
        let report =
            ModeReport(ModeState(configured: .automatic), names).switches?.first ?? DrainsReport(names).drains.first
        #expect(report != nil && report?.noEffect == expected)
    }
}
