import HTTPCacheSemantics
import HTTPTypes
import HoldfastTesting
import NIOCore
import Testing

@testable import HTTPCache

/// Fields by which origins tag their responses, with the engine and a store.
@Suite(.timeLimit(.minutes(20))) struct TagFieldTests {
    private let url = EngineFixture.url

    @Test func nameIsComparedWithoutCase() {
        #expect(TagField(named: "SURROGATE-key") == .surrogateKey && TagField(named: "cache-TAG") == .cacheTag)
        #expect(TagField(named: "Xkey") == .xkey && TagField(named: "Surrogate-Keys") == nil)
        for field in TagField.allCases { #expect(field.name.rawName == field.rawValue) }
    }

    @Test(
        arguments: [
            (.surrogateKey, ["a b,c  d\te "], ["a", "b,c", "d", "e"]),
            (.cacheTag, ["a, b c ,,\td\t, "], ["a", "b c", "d"]),
            (.xkey, ["a, b c,,d ,"], ["a", "b", "c", "d"]),
            (.surrogateKey, ["a", "b c"], ["a", "b", "c"]), (.cacheTag, ["a", "b,c"], ["a", "b", "c"]),
            (.xkey, [""], []), (.cacheTag, [" , "], []), (.surrogateKey, [], []),
        ] as [(TagField, [String], [String])]
    )
    func valuesAreSplitAsOtherCachesDo(_ field: TagField, _ values: [String], _ tags: [String]) {
        var found: [String] = []
        let fields = HTTPFields(values.map { HTTPField(name: field.name, value: $0) })
        field.forEachTag(in: fields) {
            found.append($0)
            return true
        }
        #expect(found == tags)
    }

    private func fixture(
        kind: CacheKind = .shared,
        _ fields: [TagField] = TagField.allCases,
        tags: [String] = []
    ) -> EngineFixture {
        EngineFixture(
            kind: kind,
            rules: TestRules {
                $0.tagFields = fields
                $0.tags = tags
            }
        )
    }

    private func reply(_ body: String, _ fields: HTTPFields, etag: String? = nil) -> ScriptedTransport.Reply {
        var fields = fields
        fields[.cacheControl] = "max-age=60"
        fields[.eTag] = etag
        return .ok(body, fields: fields)
    }

    /// Whether an invalidation by this tag reaches the one stored response.
    private func reaches(_ tag: String, _ fixture: EngineFixture) async throws -> Bool {
        let before = fixture.memory.all.count
        _ = try await fixture.memory.invalidate(.tag(tag), keepingForOffline: false, at: fixture.clock.now())
        return fixture.memory.all.count < before
    }

    @Test(arguments: ["rule", "one", "two", "three", "four five"])
    func everyTagReachesTheResponse(_ tag: String) async throws {
        let fixture = fixture(tags: ["rule"])
        let fields: HTTPFields = [
            TagField.surrogateKey.name: "one two", TagField.xkey.name: "three", TagField.cacheTag.name: "four five",
        ]
        fixture.transport.script(url, reply("x", fields))
        try await fixture.get()
        #expect(fixture.memory.all.count == 1)
        #expect(try await !reaches("four", fixture))
        #expect(try await reaches(tag, fixture))
    }

    @Test func fieldThatNoRuleNamesGivesNoTags() async throws {
        let fixture = fixture([.xkey])
        fixture.transport.script(url, reply("x", [TagField.surrogateKey.name: "one", TagField.xkey.name: "two"]))
        let fields = try await fixture.get().response.head.headerFields
        #expect(fields[TagField.surrogateKey.name] == "one" && !fields.contains(TagField.xkey.name))
        #expect(try await !reaches("one", fixture))
        #expect(try await reaches("two", fixture))
    }

    @Test func storedResponseKeepsTheFieldThatNoCallerGets() async throws {
        let fixture = fixture()
        let name = TagField.surrogateKey.name
        fixture.transport.script(url, reply("x", [name: "one"]))
        for _ in 0..<2 { #expect(try await !fixture.get().response.head.headerFields.contains(name)) }
        #expect(fixture.memory.all.map { $0.head.fields[name] } == ["one"])
        let head = try await fixture.get(method: .head).response
        #expect(head.outcome.isHit && !head.head.headerFields.contains(name))
    }

    @Test func renewalBringsOtherTags() async throws {
        let fixture = fixture()
        let name = TagField.surrogateKey.name
        fixture.transport.script(
            url,
            reply("x", [name: "one"], etag: "\"1\""),
            .status(.notModified, fields: [name: "two"]),
            .status(.notModified)
        )
        for _ in 0..<3 {
            let response = try await fixture.get().response
            #expect(!response.head.headerFields.contains(name))
            fixture.clock.advance(by: .seconds(61))
        }
        // The last 304 named no tags, so those of the one before stay.
        #expect(fixture.transport.requests.count == 3)
        #expect(try await !reaches("one", fixture))
        #expect(try await reaches("two", fixture))
    }

    static let tooMany = (1...65).map { "tag-\($0)" }.joined(separator: " ")
    static let tooLong = String(repeating: "x", count: 1025)

    @Test func sixtyFourTagsOfFullLengthAreKept() async throws {
        let fixture = fixture()
        let tags = (10...73).map { String(repeating: "x", count: 1022) + "\($0)" }
        fixture.transport.script(url, reply("x", [TagField.xkey.name: tags.joined(separator: " ")]))
        #expect(try await fixture.get().response.outcome.isStored)
        #expect(try await reaches(tags[63], fixture))
    }

    @Test(arguments: [tooMany, tooLong, "one \(tooLong)"])
    func responseWithTooManyOrTooLongTagsIsNotStored(_ tags: String) async throws {
        let fixture = fixture()
        fixture.transport.script(url, repeating: reply("x", [TagField.surrogateKey.name: tags]))
        for _ in 0..<2 {
            let (text, response) = try await fixture.get()
            #expect(text == "x" && response.outcome.notStored == .tags && !response.outcome.isStored)
            #expect(!response.head.headerFields.contains(TagField.surrogateKey.name))
        }
        #expect(fixture.memory.all.isEmpty)
    }

    /// A purge by a tag that the 304 brought would not reach it, so it must not stay usable.
    @Test func renewalWithTooManyTagsLeavesOnlyWhatMustBeValidated() async throws {
        let fixture = fixture()
        let name = TagField.surrogateKey.name
        fixture.transport.script(
            url,
            reply("x", [name: "one"], etag: "\"1\""),
            .status(.notModified, fields: [name: Self.tooMany, .cacheControl: "max-age=60"]),
            .status(.notModified, fields: [name: "two", .cacheControl: "max-age=60"])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        let renewed = try await fixture.get()
        #expect(renewed.text == "x" && renewed.response.isValidated)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [true])
        #expect(fixture.memory.all.map { $0.head.fields[name] } == ["one"])
        // The next one is validated at once, and is usable again.
        #expect(try await fixture.get().response.isValidated)
        #expect(fixture.memory.all.map(\.head.isInvalidated) == [false])
        #expect(try await reaches("two", fixture))
    }

    @Test func responseThatForbidsStoringItsTagsIsNotStored() async throws {
        let fixture = fixture()
        let fields: HTTPFields = [
            TagField.xkey.name: "one", .cacheControl: "max-age=60, private=\"xkey\"",
        ]
        fixture.transport.script(url, .ok("x", fields: fields))
        let response = try await fixture.get().response
        #expect(response.outcome.notStored == .tags && fixture.memory.all.isEmpty)
    }

    @Test func renewalThatForbidsStoringItsTagsKeepsTheOldOnes() async throws {
        let fixture = fixture()
        let forbidding = "max-age=60, private=\"surrogate-key\""
        fixture.transport.script(
            url,
            reply("x", [TagField.surrogateKey.name: "one"], etag: "\"1\""),
            .status(.notModified, fields: [.cacheControl: forbidding])
        )
        try await fixture.get()
        fixture.clock.advance(by: .seconds(61))
        #expect(try await fixture.get().response.isValidated)
        #expect(try await reaches("one", fixture))
    }

    /// HEAD renews the stored response to GET. RFC 9111 §4.3.5
    @Test func headBringsOtherTags() async throws {
        let fixture = fixture()
        let name = TagField.cacheTag.name
        fixture.transport.script(url, reply("x", [name: "one"], etag: "\"1\""))
        try await fixture.get()
        let fields: HTTPFields = [
            name: "two", .eTag: "\"1\"", .cacheControl: "max-age=60", .contentLength: "1",
        ]
        fixture.transport.script(url, .status(.ok, fields: fields))
        let response = try await fixture.get(method: .head, preference: .networkOnly).response
        #expect(!response.head.headerFields.contains(name))
        #expect(try await !reaches("one", fixture))
        #expect(try await reaches("two", fixture))
    }

    @Test func thirtyCallersShareOneTaggedFetch() async throws {
        let fixture = fixture()
        let gate = Gate()
        let name = TagField.surrogateKey.name
        fixture.transport.script(
            url,
            .ok("x", fields: [name: "one", .cacheControl: "max-age=60"], beforeHead: gate)
        )
        let fields = try await withThrowingTaskGroup(of: HTTPFields.self) { group in
            for _ in 0..<30 { group.addTask { try await fixture.get().response.head.headerFields } }
            await fixture.transport.waitForRequests(1)
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(fields.count == 30 && !fields.contains { $0.contains(name) })
        #expect(fixture.transport.requests.count == 1)
        #expect(try await reaches("one", fixture))
    }

    /// Their number is the origin's choice, so they are not all compared with each other.
    @Test func thousandsOfTagsAreNotCollected() throws {
        let tags = (0..<30_000).map(String.init).joined(separator: " ")
        let example = FetchCase(
            "",
            .stores,
            .ok,
            [.cacheControl: "max-age=60", TagField.xkey.name: tags],
            rules: { $0.tagFields = [.xkey] }
        )
        guard case .store(let draft) = try example.decide() else {
            Issue.record("The decision is another one.")
            return
        }
        #expect(draft.tags.count == ResponseDraft.maximumTagCount + 1 && !draft.hasAcceptableTags)
    }
}
