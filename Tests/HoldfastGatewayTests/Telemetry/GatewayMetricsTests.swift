import HTTPCache
import HTTPCacheOperations
import HTTPCacheSemantics
import HoldfastMetrics
import HoldfastTesting
import NIOCore
import Synchronization
import Testing

@testable import HoldfastGateway
@testable import OriginConnections

/// Numbers of a gateway, held against what clients and origins saw.
@Suite(.timeLimit(.minutes(20))) struct GatewayMetricsTests {
    private static let fresh = "Cache-Control: max-age=60\r\n"

    private func withGateway(
        mode: OfflineMode = .automatic,
        respond: @escaping @Sendable (RawOrigin.Request) -> RawOrigin.Step,
        configure: (inout GatewayConfiguration) -> Void = { _ in },
        _ body: (RunningGateway, RawOrigin) async throws -> Void
    ) async throws {
        try await RawOrigin.with([], respond: respond) { origin in
            try await RunningGateway.with(origin: origin.url, mode: mode, configure: configure) {
                try await body($0, origin)
            }
        }
    }

    @Test(arguments: RawClient.counts) func everyNumberIsWhatClientsAndTheOriginSaw(clients: Int) async throws {
        try await withGateway { request in
            switch request.target.prefix(2) {
            case "/s": .ok("0123456789", fields: Self.fresh)
            case "/n": .ok("abc", fields: "Cache-Control: no-store\r\n")
            case "/p": .ok("private", fields: "Cache-Control: private\r\n")
            default: .response("HTTP/1.1 404 Not Found\r\nCache-Control: no-store\r\nContent-Length: 4\r\n\r\nnone")
            }
        } _: { gateway, origin in
            let requests = ["GET /s", "GET /s", "GET /s", "GET /s", "HEAD /s", "GET /n", "GET /p", "GET /x", "POST /n"]
            let seen = Mutex((bytes: 0, hits: 0))
            try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                for request in requests {
                    let length = request.hasPrefix("POST") ? "Content-Length: 0\r\n" : ""
                    try await client.send("\(request)\(number) HTTP/1.1\r\nHost: g\r\n\(length)\r\n")
                    let response = try await client.response(isHead: request.hasPrefix("HEAD"))
                    seen.withLock { seen in
                        seen.bytes += response.content.count
                        seen.hits += response["Cache-Status"]?.contains("; hit") == true ? 1 : 0
                    }
                }
            }
            let scrape = await Scrape(gateway)
            let (bytes, hits) = seen.withLock { $0 }
            #expect(scrape.count("http_server_request_duration_seconds") == clients * requests.count)
            #expect(scrape.count("holdfast_exchanges_total") == clients * requests.count)
            #expect(scrape.count("holdfast_exchanges_total", ["outcome": "hit"]) == hits && hits > 0)
            #expect(scrape.count("holdfast_hits_total") == hits)
            let collapsed = scrape.count("holdfast_exchanges_total", ["outcome": "collapsed"])
            #expect(scrape.count("holdfast_forwards_total") - collapsed == origin.requests.count)
            #expect(scrape.count("holdfast_sent_bytes_total") == bytes)
            let refused = ["response-no-store": clients * 2, "private-response": clients, "method": clients]
            for (reason, count) in refused {
                #expect(scrape.count("holdfast_not_stored_total", ["reason": reason]) == count, "\(reason)")
            }
            let notFound = ["http_response_status_code": "404"]
            #expect(scrape.count("http_server_request_duration_seconds", notFound) == clients)
            #expect(scrape.count("http_server_active_requests") == 0)
            #expect(scrape.count("holdfast_client_connections_total") == clients)
        }
    }

    @Test func everyRequestSaysWhetherOutageWouldLeaveItAnswerable() async throws {
        try await withGateway { request in
            request.target == "/n" ? .ok("abc", fields: "Cache-Control: no-store\r\n") : .ok("abc", fields: Self.fresh)
        } _: { gateway, _ in
            // Hits of the hot table. The first ones are all looked at; of the last ones some wait.
            let (few, hits) = (5, 640)
            let name = "holdfast_offline_answerable_total"
            try await RawClient.with(port: gateway.port) { client in
                func get(_ target: String, _ count: Int) async throws {
                    for _ in 0..<count {
                        try await client.send("GET \(target) HTTP/1.1\r\nHost: g\r\n\r\n")
                        _ = try await client.response()
                    }
                }
                try await get("/n", 3)
                try await get("/s", few + 1)
                #expect(await Scrape(gateway).count(name, ["answer": "yes"]) == few)
                try await get("/s", hits - few)
            }
            let scrape = await Scrape(gateway)
            #expect(scrape.count("holdfast_exchanges_total", ["outcome": "hit"]) == hits)
            let yes = scrape.count(name, ["answer": "yes"])
            #expect((hits - 63...hits).contains(yes), "\(yes)")
            #expect(scrape.count(name, ["answer": "no", "reason": "not-stored"]) == 4)
            #expect(scrape.count(name) == yes + 4)
            // Nothing forbids the stale use of these responses, however long an outage is.
            for outage in ["1h", "1d"] {
                #expect(scrape.count("holdfast_offline_answerable_later_total", ["outage": outage]) == yes)
            }
            let examples = await gateway.server.traffic.notStored()
            #expect(examples.map(\.target) == ["g/n"] && examples.first?.reason == .responseNoStore)
        }
    }

    @Test func nothingThatClientSendsAddsSeries() async throws {
        let host = ["one.example", "two.example"]
        try await withGateway { _ in
            .ok("a", fields: "Cache-Control: no-store\r\n")
        } configure: { configuration in
            let origin = configuration.routes.routes[0].origin
            if let routes = try? GatewayRoutes(
                host.map { try GatewayRoute(name: $0, host: $0, origin: origin) }
            ) {
                configuration.routes = routes
            }
        } _: { gateway, _ in
            @Sendable func ask(_ client: RawClient, _ numbers: Range<Int>) async throws {
                for number in numbers {
                    try await client.send("M\(number) /\(number) HTTP/1.1\r\nHost: h\(number).example\r\n\r\n")
                    _ = try await client.response()
                    try await client.send("M\(number) /\(number)?\(number) HTTP/1.1\r\nHost: one.example\r\n\r\n")
                    _ = try await client.response()
                }
            }
            try await RawClient.with(port: gateway.port) { try await ask($0, 0..<3) }
            let before = await Scrape(gateway)
            try await RawClient.onEach(of: 30, port: gateway.port) { client, number in
                try await ask(client, (number * 170)..<(number * 170 + 170))
            }
            let after = await Scrape(gateway)
            #expect(after.seriesCount == before.seriesCount)
            #expect(after.count("http_server_request_duration_seconds") == 2 * 3 + 30 * 340)
            #expect(after.count("holdfast_refusals_total", ["problem": "unknown-host"]) == 3 + 30 * 170)
            #expect(after.count("holdfast_exchanges_total", ["route": "one.example"]) == 3 + 30 * 170)
        }
    }

    @Test func countsOfflineStaleAndRefusedWithTheirReason() async throws {
        try await withGateway { _ in
            .ok("a", fields: Self.fresh)
        } _: { gateway, _ in
            _ = try await gateway.get("/a")
            gateway.clock.advance(by: .seconds(400))
            gateway.engine.mode = .offline
            for _ in 0..<3 { #expect(try await gateway.get("/a").status == 200) }
            for _ in 0..<2 { #expect(try await gateway.get("/b").status == 504) }
            let scrape = await Scrape(gateway)
            #expect(scrape.count("holdfast_stale_served_total", ["detail": "offline"]) == 3)
            #expect(scrape.count("holdfast_stale_age_seconds") == 3)
            #expect(scrape.count("holdfast_offline_refused_total", ["reason": "not-stored"]) == 2)
            #expect(scrape.count("holdfast_exchanges_total", ["outcome": "refused"]) == 2)
            #expect(scrape.count("http_server_request_duration_seconds", ["error_type": "offline-miss"]) == 2)
        }
    }

    @Test(arguments: [
        ("max-age=300, must-revalidate", "", "must-revalidate"), ("max-age=300, no-cache", "", "no-cache"),
        ("max-age=300, proxy-revalidate", "", "proxy-revalidate"), ("s-maxage=300", "", "s-maxage"),
        ("max-age=300", "Cookie: a=1\r\n", "cookie"),
    ])
    func refusedRequestsAreCountedByProhibition(_ directives: String, _ fields: String, _ reason: String) async throws {
        try await withGateway { _ in
            .ok("a", fields: "Cache-Control: \(directives)\r\n")
        } _: { gateway, _ in
            _ = try await gateway.get("/a")
            gateway.clock.advance(by: .seconds(400))
            gateway.engine.mode = .offline
            #expect(try await gateway.get("/a", fields: fields).status == 504)
            let scrape = await Scrape(gateway)
            #expect(scrape.count("holdfast_offline_refused_total", ["reason": reason]) == 1)
            #expect(scrape.count("holdfast_offline_refused_total") == 1)
        }
    }

    @Test func countsMalformedRequestsAndGoneClients() async throws {
        try await withGateway { request in
            request.target == "/long" ? .response("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234") : .silence
        } _: { gateway, origin in
            _ = try await RawClient.send("none\r\n\r\n", to: gateway.port)
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET /a HTTP/1.1\r\nHost: g\r\n\r\n")
                await origin.requests(reach: 1)
                #expect(await Scrape(gateway).count("http_server_active_requests", ["http_request_method": "GET"]) == 1)
                await client.reset()
            }
            try await RawClient.with(port: gateway.port) { client in
                try await client.send("GET /long HTTP/1.1\r\nHost: g\r\n\r\n")
                var read = 0
                while read < 5 { read += try #require(await client.read()).count }
                await client.reset()
            }
            while await Scrape(gateway).count("holdfast_client_aborts_total") < 2, !Task.isCancelled {
                await Task.yield()
            }
            let scrape = await Scrape(gateway)
            #expect(scrape.count("http_server_active_requests") == 0)
            #expect(scrape.count("http_server_request_duration_seconds", ["error_type": "client-aborted"]) == 2)
            #expect(scrape.count("http_server_request_duration_seconds", ["http_response_status_code": "400"]) == 1)
            #expect(scrape.count("http_server_request_duration_seconds") == 3)
        }
    }

    @Test(arguments: RawClient.counts) func countsEveryOriginRequestWithItsStatusOrError(clients: Int) async throws {
        try await withGateway { request in
            switch request.target.prefix(2) {
            case "/s": .ok("0123456789", fields: Self.fresh)
            case "/h": .hangUp
            default: .response("HTTP/1.1 404 Not Found\r\nCache-Control: no-store\r\nContent-Length: 4\r\n\r\nnone")
            }
        } _: { gateway, origin in
            try await RawClient.onEach(of: clients, port: gateway.port) { client, number in
                for request in ["GET /s", "GET /s", "HEAD /x", "POST /x"] {
                    let length = request.hasPrefix("POST") ? "Content-Length: 0\r\n" : ""
                    try await client.send("\(request)\(number) HTTP/1.1\r\nHost: g\r\n\(length)\r\n")
                    _ = try await client.response(isHead: request.hasPrefix("HEAD"))
                }
            }
            let name = "http_client_request_duration_seconds"
            let scrape = await Scrape(gateway)
            #expect(scrape.count(name) == origin.requests.count && origin.requests.count == 3 * clients)
            let place = ["server_address": "127.0.0.1", "server_port": "\(origin.port)"]
            #expect(scrape.count(name, place) == 3 * clients)
            #expect(scrape.count(name, ["http_request_method": "GET", "http_response_status_code": "200"]) == clients)
            for method in ["HEAD", "POST"] {
                let labels = ["http_request_method": method, "http_response_status_code": "404"]
                #expect(scrape.count(name, labels) == clients, "\(method)")
            }
            // POST is sent once, and the origin closes the connection.
            _ = try await gateway.send("POST /h HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\nx")
            let after = await Scrape(gateway)
            #expect(after.count(name, ["error_type": "connection-closed", "http_request_method": "POST"]) == 1)
            #expect(after.count(name) == 3 * clients + 1)
        }
    }

    @Test(arguments: RawClient.counts) func countsOpenConnectionsAndFetches(clients: Int) async throws {
        let gate = Gate()
        try await withGateway { _ in
            .stream { writer in
                try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n")
                try await gate.wait()
                try await writer.write("\r\nok")
            }
        } _: { gateway, origin in
            func connections(_ state: String) async -> Int {
                await Scrape(gateway).count("holdfast_origin_connections", ["origin": origin.url, "state": state])
            }
            #expect(await connections("active") == 0)
            async let responses: Void = RawClient.onEach(of: clients, port: gateway.port) { client, number in
                try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(try await client.response().status == 200)
            }
            await origin.requests(reach: clients)
            #expect(await connections("active") == clients)
            #expect(await connections("idle") == 0)
            let busy = await Scrape(gateway)
            #expect(
                busy.count("holdfast_in_flight_fetches") == clients
                    && busy.count("holdfast_in_flight_fetch_waiters") == clients
            )
            gate.open()
            try await responses
            while gateway.engine.inFlightFetchCount > 0, !Task.isCancelled { await Task.yield() }
            let idle = await Scrape(gateway)
            #expect(
                idle.count("holdfast_in_flight_fetches") == 0 && idle.count("holdfast_in_flight_fetch_waiters") == 0
            )
            #expect(await connections("active") == 0)
            #expect(await connections("idle") == origin.connectionCount)
            #expect(origin.connectionCount > 0)
            await origin.stop()
            while await connections("idle") > 0, !Task.isCancelled { await Task.yield() }
        }
    }

    @Test(arguments: RawClient.counts) func countsIdleActiveAndClosingConnections(clients: Int) async throws {
        let (origin, request, end) = (Gate(), Gate(), Gate())
        try await withGateway { request in
            if request.target == "/fresh" { return .ok("a", fields: Self.fresh) }
            return .stream { writer in
                try await origin.wait()
                try await writer.write("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 2\r\n\r\nok")
            }
        } _: { gateway, _ in
            /// Waits until this many connections are in each state.
            func connections(_ idle: Int, _ active: Int, _ closing: Int) async {
                let wanted = [idle, active, closing]
                var seen: [Int] = []
                while seen != wanted, !Task.isCancelled {
                    await Task.yield()
                    let scrape = await Scrape(gateway)
                    seen = ["idle", "active", "closing"].map {
                        scrape.count("holdfast_client_connections", ["state": $0])
                    }
                    #expect(seen.reduce(0, +) <= clients && seen.allSatisfy { $0 >= 0 }, "\(seen)")
                }
            }
            await connections(0, 0, 0)
            async let all: Void = RawClient.onEach(of: clients, port: gateway.port) { client, number in
                try await request.wait()
                try await client.send("GET /\(number) HTTP/1.1\r\nHost: g\r\n\r\n")
                #expect(try await client.response().status == 200)
                for _ in 0..<3 {
                    try await client.send("GET /fresh HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().status == 200)
                }
                try await end.wait()
            }
            await connections(clients, 0, 0)
            request.open()
            await connections(0, clients, 0)
            origin.open()
            await connections(clients, 0, 0)
            end.open()
            try await all
            await connections(0, 0, 0)
            var silent = try (0..<clients).map { _ in try SilentClient(port: gateway.port, sending: "none\r\n\r\n") }
            await connections(0, 0, clients)
            #expect(silent.count == clients)
            silent = []
            await connections(0, 0, 0)
        }
    }

    @Test func everythingCountedStaysWithinTheStatedNumberOfSeries() throws {
        let durations = 3 + MetricDescription.durationBounds.count
        var numbers = LoopTelemetry.Numbers(RequestSeries())
        for route in 0..<RouteLabels.count {
            for section in RouteCounters.Section.allCases {
                for value in RouteCounters.rows[section.rawValue].labels.indices {
                    numbers.counters.add(section, value, of: route)
                }
            }
            numbers.staleness[route].add(1)
            for status in 100..<600 {
                for method in KnownMethods.names.indices {
                    let labels = RequestLabels(route: route, method: method, status: status, version: status % 2)
                    numbers.durations.add(1, to: numbers.durations.number(of: labels))
                }
            }
        }
        let names = (0..<RouteLabels.count).map { "r\($0)" }
        let routes = numbers.families(names).reduce(0) { $0 + $1.lineCount }
        // Classes of statuses, and errors, beyond the limit.
        let requests = (OriginTelemetry.limit + 40) * durations
        let origins = 65 * (["active", "idle"].count + ["up", "in flight", "waiting", "seconds"].count)
        // Outages, and probes by their results.
        let engine = 65 * 3
        let modes = 65 * OfflineMode.allCases.count
        let quotas = 2 * 64
        // The store, its three histograms, purges, reloads, the process, and what has no labels.
        let others = 200
        let sum = routes + requests + origins + engine + modes + quotas + others
        let stated = try #require(StatedLimit.named("series of /metrics").value)
        #expect(sum <= stated, "\(sum)")
        // A statement that is far off says nothing.
        #expect(sum > stated * 3 / 4, "\(sum)")
    }

    @Test func hostsAndMethodsOfClientsAreNoLabelsOfOrigins() async throws {
        try await withGateway { _ in
            .ok("a", fields: "Cache-Control: no-store\r\n")
        } configure: { configuration in
            let origin = configuration.routes.routes[0].origin
            if let routes = try? GatewayRoutes([try GatewayRoute(origin: origin, preservesHost: true)]) {
                configuration.routes = routes
            }
        } _: { gateway, origin in
            for number in 0..<100 {
                let method = number % 2 == 0 ? "GET" : "M\(number)"
                let response = try await gateway.send("\(method) / HTTP/1.1\r\nHost: h\(number).example\r\n\r\n")
                #expect(response.status == 200)
            }
            let series = await Scrape(gateway).series("http_client_request_duration_seconds", [:])
            #expect(series.count == 2)
            #expect(Set(series.flatMap(\.labels.all).map(\.name)).count == 4)
            let named = try gateway.engine.origin(of: TargetURI("http://h1.example/"))
            #expect(named.description == origin.url)
        }
    }

    @Test func inventedStatusesShareSeriesOfOriginDurations() async throws {
        try await withGateway { request in
            let status = Int(request.target.dropFirst()) ?? 0
            return .response("HTTP/1.1 \(status) A\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n")
        } _: { gateway, _ in
            try await RawClient.with(port: gateway.port) { client in
                for status in 400..<600 {
                    try await client.send("GET /\(status) HTTP/1.1\r\nHost: g\r\n\r\n")
                    #expect(try await client.response().status == status)
                }
            }
            let scrape = await Scrape(gateway)
            let name = "http_client_request_duration_seconds"
            #expect(scrape.count(name) == 200)
            #expect(scrape.series(name, [:]).count == OriginTelemetry.share + 2)
            #expect(scrape.count(name, ["http_response_status_code": "4xx"]) == 100 - OriginTelemetry.share)
            #expect(scrape.count(name, ["http_response_status_code": "5xx", "http_request_method": "GET"]) == 100)
        }
    }

    @Test func originThatInventsStatusesTakesNoOtherOnesSeries() async throws {
        let name = "http_client_request_duration_seconds"
        try await RawOrigin.with(respond: { _ in .ok("a", fields: "Cache-Control: no-store\r\n") }) { quiet in
            try await withGateway { request in
                let status = Int(request.target.dropFirst()) ?? 0
                let length =
                    request.line.hasPrefix("HEAD") || status == 204 || status == 304 ? "" : "Content-Length: 0\r\n"
                return .response("HTTP/1.1 \(status) A\r\nCache-Control: no-store\r\n\(length)\r\n")
            } configure: { configuration in
                let origin = configuration.routes.routes[0].origin
                if let quiet = try? GatewayRoute(host: "q.example", origin: try GatewayOrigin(quiet.url)),
                    let routes = try? GatewayRoutes([quiet, try GatewayRoute(origin: origin)])
                {
                    configuration.routes = routes
                }
            } _: { gateway, _ in
                try await RawClient.with(port: gateway.port) { client in
                    for method in ["GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"] {
                        for status in 200..<600 where status != 304 && status != 204 && status != 205 {
                            let length = method == "GET" ? "" : "Content-Length: 0\r\n"
                            try await client.send("\(method) /\(status) HTTP/1.1\r\nHost: g\r\n\(length)\r\n")
                            #expect(try await client.response().status == status)
                        }
                    }
                    try await client.send("GET /a HTTP/1.1\r\nHost: q.example\r\n\r\n")
                    #expect(try await client.response().text == "a")
                }
                let scrape = await Scrape(gateway)
                let port = try #require(quiet.url.split(separator: ":").last)
                let labels = ["http_request_method": "GET", "http_response_status_code": "200"]
                #expect(scrape.count(name, labels.merging(["server_port": "\(port)"]) { $1 }) == 1)
                #expect(scrape.count(name, ["server_address": "other"]) == 0)
                // The other one has its classes without methods in the end.
                #expect(scrape.series(name, [:]).count <= OriginTelemetry.shareWithClasses + 5)
                #expect(scrape.count(name) == 1 + 6 * 397)
            }
        }
    }

    @Test func everyProblemOfThePageOfLimitsIsALabelValue() async throws {
        let stated = Set(StatedLimit.all.compactMap(\.code))
        #expect(stated.count > 5)
        #expect(stated.subtracting(Problem.codes).isEmpty)
        try await withGateway { _ in
            .ok("a")
        } _: { gateway, _ in
            let before = await Scrape(gateway).series("holdfast_refusals_total", [:])
            let values = Set(before.flatMap(\.labels.all).map(\.value))
            #expect(values == Set(Problem.codes + [Problem.otherCode]))
            // An unknown one adds no series.
            let telemetry = LoopTelemetry(RequestSeries())
            var record = ExchangeRecord(
                client: GatewayClient(address: nil),
                route: RouteLabels.none,
                start: .now(),
                end: .now()
            )
            record.facts = ExchangeFacts(CacheOutcome(), problem: "unheard-of")
            telemetry.record(record)
            #expect(telemetry.numbers.problems.count == Problem.codes.count + 1)
            #expect(telemetry.numbers.problems.last == 1 && telemetry.numbers.problems.reduce(0, +) == 1)
        }
    }

    /// Mutant: a reason appears only once it is counted.
    @Test func seriesOfAlertsExistBeforeAnythingHappened() async throws {
        try await withGateway { _ in
            .ok("a")
        } _: { gateway, _ in
            let scrape = await Scrape(gateway)
            let route = ["route": "1"]
            for (name, count) in [
                ("holdfast_exchanges_total", ExchangeEnding.allCases.count),
                ("holdfast_not_stored_total", StorageRefusal.allCases.count),
                ("holdfast_offline_refused_total", OfflineRefusal.allCases.count),
                ("holdfast_offline_answerable_total", OfflineRefusal.allCases.count + 1),
                ("holdfast_hits_total", 0), ("holdfast_tunnels_total", 0),
            ] {
                #expect(scrape.series(name, route).count == count && scrape.count(name) == 0, "\(name)")
                // No request belongs to the other labels.
                #expect(scrape.series(name, [:]).count == count, "\(name)")
            }
            #expect(scrape.series("http_server_request_duration_seconds", ["http_route": "1"]).count == 1)
            #expect(scrape.count("http_server_request_duration_seconds") == 0)
            // The first request is counted in the series that exists.
            _ = try await gateway.get("/a")
            let after = await Scrape(gateway)
            #expect(after.series("http_server_request_duration_seconds", [:]).count == 1)
            #expect(after.count("http_server_request_duration_seconds", ["http_response_status_code": "200"]) == 1)
        }
    }

    @Test func routesBeyondTheLimitHaveSeriesOfAlertsToo() {
        let counters = RouteCounters()
        func routes(_ count: Int) -> Set<String> {
            let names = ["none", "other"] + (0..<count).map { "r\($0)" }
            let refused = counters.families(names).first { $0.description.name == "holdfast_offline_refused_total" }
            return Set(refused?.series.flatMap(\.labels.all).filter { $0.name == "route" }.map(\.value) ?? [])
        }
        #expect(routes(2) == ["r0", "r1"] && routes(RouteLabels.limit - 1).count == RouteLabels.limit - 1)
        #expect(routes(RouteLabels.limit).count == RouteLabels.limit + 1)
        #expect(routes(RouteLabels.limit).contains("other"))
    }

    @Test func routesKeepTheirNamesAndThoseBeyondTheLimitShareOne() throws {
        let labels = RouteLabels()
        let origin = try GatewayOrigin("http://o.example")
        func routes(_ names: Range<Int>) throws -> [GatewayRoute] {
            try names.map { try GatewayRoute(name: "r\($0)", host: "h\($0).example", origin: origin) }
        }
        let first = labels.labels(of: try routes(0..<3))
        #expect(first == [2, 3, 4])
        #expect(labels.labels(of: try routes(1..<4)) == [3, 4, 5])
        let many = labels.labels(of: try routes(0..<100))
        #expect(many.count { $0 == RouteLabels.other } == 100 - RouteLabels.limit)
        #expect(labels.names.count == RouteLabels.count && labels.names[2] == "r0")
    }

    @Test func inventedStatusesShareSeriesOnceThereAreMany() {
        let series = RequestSeries()
        var durations = RequestDurations(series)
        for status in 100..<1000 {
            let labels = RequestLabels(route: 2, method: 0, status: status, version: 1)
            durations.add(0.001, to: durations.number(of: labels))
        }
        #expect(series.labels.count <= RequestSeries.limit + 10)
        let names = ["none", "other", "api"]
        let count = durations.family(names).series.reduce(0) { sum, series in
            if case .histogram(let counts, _) = series.value { sum + Int(counts.reduce(0, +)) } else { sum }
        }
        #expect(count == 900)
    }
}
