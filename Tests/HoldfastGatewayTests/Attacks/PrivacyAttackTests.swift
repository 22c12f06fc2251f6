import Testing

/// Responses to one client that another must not get, over sockets. docs/attacks.md has the mutant
/// of each number.
@Suite(.timeLimit(.minutes(20))) struct PrivacyAttackTests {
    /// 26: A tenant's response serves no other tenant, and no anonymous request.
    @Test(arguments: ["Authorization", "Cookie"])
    func tenantsResponseAnswersNoOtherClient(name: String) async throws {
        let responses = ["a", "b", "none"].map { RawOrigin.Step.ok($0, fields: AttackedGateway.cacheable) }
        try await RawOrigin.with(responses) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let answer1 = try await gateway.get("/", fields: "\(name): tenant=a\r\n")
                #expect(answer1.text == "a")
                let answer2 = try await gateway.get("/", fields: "\(name): tenant=b\r\n")
                #expect(answer2.text == "b")
                let answer3 = try await gateway.get("/")
                #expect(answer3.text == "none")
                #expect(origin.requests.count == 3)
            }
        }
    }

    /// 34: A Connection that names credentials shares no private response.
    @Test(arguments: ["Authorization", "Cookie"])
    func connectionNamingCredentialsSharesNoPrivateResponse(name: String) async throws {
        try await RawOrigin.with([.ok("mine", fields: AttackedGateway.cacheable), .ok("yours")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                let fields = "Connection: close, \(name)\r\n\(name): secret=1\r\n"
                let answer1 = try await gateway.get("/", fields: fields)
                #expect(answer1.text == "mine")
                #expect(origin.requests.first?.values(name) == ["secret=1"])
                if name == "Authorization" { #expect(try await gateway.get("/").text == "yours") }
            }
        }
    }
}
