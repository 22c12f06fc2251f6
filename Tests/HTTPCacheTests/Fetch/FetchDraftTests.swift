import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import HTTPCache

/// The draft under which an in-flight fetch stores, and whether HEAD may change the stored
/// response, without an engine or a store.
@Suite(.timeLimit(.minutes(20))) struct FetchDraftTests {
    private let now = FetchCase.responseTime

    private func draft(_ example: FetchCase) throws -> ResponseDraft {
        guard case .store(let draft) = try example.decide() else {
            throw Unexpected(decision: example.testDescription)
        }
        return draft
    }

    private struct Unexpected: Error { var decision: String }

    @Test func draftHasTimesLengthAndSelectingFields() throws {
        let fields: HTTPFields = [
            .cacheControl: "max-age=60", .contentLength: "12", .vary: "Accept, Accept-Language", .connection: "close",
            .date: HTTPDate.format(now),
        ]
        let example = FetchCase("", .stores, .ok, fields, to: [.accept: "text/html", .userAgent: "test"])
        let draft = try draft(example)
        #expect(draft.key == (try example.context().key.inPartition(.common)))
        #expect(draft.head.selectingFields == [.accept: "text/html"])
        #expect(draft.head.fields[.connection] == nil && draft.head.fields[.vary] == "Accept, Accept-Language")
        #expect(draft.head.requestTime == FetchCase.requestTime && draft.head.responseTime == now)
        #expect(draft.head.explicitExpiry == nil)
        #expect(draft.expectedLength == 12 && draft.storedAt == now)
        // Two seconds passed since the request was sent.
        #expect(draft.freshUntil == now.adding(.seconds(58)))
        #expect(draft.isUsableStale && !draft.isPinned && draft.tags == [])
    }

    @Test(
        arguments: [
            ("12", 12), ("12, 12", 12), (" 12\t", 12), ("0", 0), ("12, 13", nil), ("+12", nil), ("-1", nil),
            ("0x1", nil),
            ("", nil), ("12,", 12), ("99999999999999999999", nil),
        ] as [(String, StatedLength?)]
    )
    func expectedLengthIsOneValidNumber(value: String, length: StatedLength?) throws {
        let draft = try draft(FetchCase("", .stores, .ok, [.contentLength: value]))
        #expect(draft.expectedLength == length)
    }

    @Test func onlySuccessesAreUsableStaleUnlessForbidden() throws {
        let permitted = try draft(FetchCase("", .stores, .ok, [.cacheControl: "max-age=60"]))
        let forbidden = try draft(FetchCase("", .stores, .ok, [.cacheControl: "max-age=60, must-revalidate"]))
        let failed = try draft(FetchCase("", .stores, .notFound, [.cacheControl: "max-age=60"]))
        #expect([permitted, forbidden, failed].map(\.isUsableStale) == [true, false, false])
    }

    @Test func callersExpiryReplacesLifetimeOfSuccessesOnly() throws {
        func draft(_ status: HTTPResponse.Status) throws -> ResponseDraft {
            try self.draft(
                FetchCase(
                    "",
                    .stores,
                    status,
                    [.cacheControl: "max-age=60"],
                    change: { $0.storage = .expiring(.after(.seconds(7))) }
                )
            )
        }
        let (success, failure) = (try draft(.ok), try draft(.notFound))
        #expect(success.head.explicitExpiry == now.adding(.seconds(7)))
        #expect(success.freshUntil == now.adding(.seconds(7)))
        #expect(failure.head.explicitExpiry == nil && failure.freshUntil > now.adding(.seconds(7)))
    }

    /// A 304 and a part renew the caller's expiry too: it counts from the new response.
    @Test func callersExpiryIsRenewedWithTheHead() throws {
        let expiring: @Sendable (inout CacheRequest) -> Void = { $0.storage = .expiring(.after(.seconds(7))) }
        let validated = FetchCase("", .freshens, .notModified, change: expiring) { $0.fetch.validating = $0.stored() }
        let rest: HTTPFields = [.contentRange: "bytes 5-9/10", .eTag: "\"1\""]
        let completed = FetchCase(
            "",
            .completes,
            .partialContent,
            rest,
            change: expiring,
            beside: {
                $0.fetch.completing = $0.storedPart()
            }
        )
        let combined = FetchCase(
            "",
            .combines,
            .partialContent,
            rest,
            to: [.range: "bytes=5-9"],
            change: expiring,
            beside: {
                $0.known.success = $0.storedPart()
            }
        )
        let heads = try [validated, completed, combined].map { example -> StoredResponseHead? in
            switch try example.decide() {
            case .freshen(_, let head): head
            case .complete(_, _, let draft), .combine(_, _, let draft): draft.head
            default: nil
            }
        }
        #expect(heads.map { $0?.explicitExpiry } == Array(repeating: now.adding(.seconds(7)), count: 3))
    }

    @Test func completedDraftHasWholeLengthUnderStoredKey() throws {
        let example = FetchCase(
            "",
            .completes,
            .partialContent,
            [
                .contentRange: "bytes 5-9/10", .eTag: "\"1\"", .contentLength: "5",
            ],
            beside: { $0.fetch.completing = $0.storedPart() }
        )
        guard case .complete(let stored, let combined, let draft) = try example.decide() else {
            Issue.record("It is not completed.")
            return
        }
        #expect(draft.key == stored.key && draft.expectedLength == 10 && draft.head.status == .ok)
        #expect(combined.pieces == [.stored(0..<5), .received(0..<5)])
    }

    @Test func renewedHeadKeepsKeyLengthAndTimeOfStoring() throws {
        let example = FetchCase(
            "",
            .freshens,
            .notModified,
            [.cacheControl: "max-age=9"],
            beside: {
                $0.fetch.validating = $0.stored()
            }
        )
        guard case .freshen(let stored, let head) = try example.decide() else {
            Issue.record("It is not freshened.")
            return
        }
        let draft = try example.context().draft(head, replacing: stored)
        #expect(draft.key == stored.key && draft.expectedLength == 10 && draft.storedAt == stored.storedAt)
        #expect(draft.head.responseTime == now)
        #expect(head.fields[.eTag] == "\"1\"" && head.fields[.cacheControl] == "max-age=9")
    }

    // MARK: Tags

    private let groups: HTTPFields = [HTTPField.Name("Cache-Groups") ?? .te: "\"news\", \"sport\""]

    @Test func tagsOfGroupsRulesAndRequestComeInThisOrderEachOnce() throws {
        let example = FetchCase(
            "",
            .stores,
            .ok,
            groups,
            rules: { $0.tags = ["rule", "both", "rule"] },
            change: {
                $0.tags = ["both", "request"]
            }
        )
        #expect(
            try draft(example).tags == [
                "group https://a.example:443 news", "group https://a.example:443 sport", "rule", "both", "request",
            ]
        )
    }

    @Test func groupsAreTagsOnlyIfTheyAreUsed() throws {
        let usual = try draft(FetchCase("", .stores, .ok, groups)).tags
        let none = try draft(FetchCase("", .stores, .ok, groups, beside: { $0.options.usesCacheGroups = false })).tags
        #expect(usual.count == 2 && none == [])
    }

    @Test func rulesPinByTheTypeOfTheResponse() throws {
        let example = FetchCase("", .stores, .ok, [.contentType: "application/json"], rules: { $0.isPinned = true })
        #expect(try draft(example).isPinned)
    }

    // MARK: HEAD

    /// Whether the fields of a response to HEAD may be stored with the stored response.
    @Test(arguments: [
        FetchCase("no-store", .confirms, .ok, [.cacheControl: "no-store"], method: .head),
        FetchCase(
            "private in a shared cache",
            .confirms,
            .ok,
            [.cacheControl: "private"],
            kind: .shared,
            method: .head
        ),
        FetchCase("a longer lifetime", .freshens, .ok, [.cacheControl: "max-age=90"], method: .head),
        FetchCase("no lifetime", .freshens, .ok, method: .head),
        FetchCase(
            "a principal's fields for a response for all",
            .confirms,
            .ok,
            [.cacheControl: "max-age=90"],
            method: .head,
            to: [.authorization: "Bearer x"]
        ),
        FetchCase(
            "fields for all",
            .freshens,
            .ok,
            [.cacheControl: "public, max-age=90"],
            method: .head,
            to: [.authorization: "Bearer x"]
        ),
        FetchCase(
            "a secret of the request",
            .confirms,
            .ok,
            [.contentLocation: "/feed?token=opensesame"],
            method: .head,
            change: { $0.secretParameters = ["token"] }
        ),
    ])
    func headUpdatesOnlyWhatMayBeStored(example: FetchCase) throws {
        let context = try example.context()
        let stored = context.stored()
        var head = stored.head
        head.fields = example.response.headerFields
        #expect((context.updating(stored, to: head) != nil) == (example.decision == .freshens))
    }

    @Test func headUpdatesResponseOfItsOwnPrincipal() throws {
        let example = FetchCase(
            "",
            .freshens,
            .ok,
            [.cacheControl: "max-age=90"],
            method: .head,
            to: [.authorization: "Bearer x"]
        )
        let context = try example.context()
        let stored = context.stored(isCommon: false)
        var head = stored.head
        head.fields = example.response.headerFields
        #expect(context.updating(stored, to: head) != nil)
    }
}
