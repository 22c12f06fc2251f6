import HTTPCacheOperations
import Testing

@testable import HTTPCache

/// The outlines of two JSON texts tell which member differs first, and tell no value.
@Suite(.timeLimit(.minutes(20))) struct JSONOutlineTests {
    private func outline(_ json: String, ignoring paths: [String] = [], salt: String = "a") throws -> JSONOutline {
        try JSONOutline(Array(json.utf8), ignoring: MemberPaths(paths), salt: salt)
    }

    private func difference(_ asked: String, _ recorded: String) throws -> ContentDifference {
        ContentDifference(try outline(asked), from: try outline(recorded))
    }

    private static let chat =
        #"{"model":"m","messages":[{"role":"user","content":"Hello"},{"role":"x","content":"1"}]}"#

    /// Mutant: a member that differs later is named.
    @Test(
        arguments: [
            (chat.replacing("Hello", with: "Hallo"), chat, "/messages/0/content", .changed),
            (chat.replacing("Hello", with: "Hallo").replacing("\"m\"", with: "\"n\""), chat, "/model", .changed),
            (#"{"a":1,"b":2}"#, #"{"a":1}"#, "/b", .added), (#"{"a":1}"#, #"{"a":1,"b":2}"#, "/b", .missing),
            (#"{"a":1,"b":{"c":[{"d":1}]}}"#, #"{"a":1}"#, "/b", .added),
            (#"{"a":1}"#, #"{"a":1,"b":{"c":[{"d":1}]}}"#, "/b", .missing),
            (#"{"a":[1,2,3]}"#, #"{"a":[1,2]}"#, "/a/2", .added), (#"{"a":[1]}"#, #"{"a":[1,2]}"#, "/a/1", .missing),
            (#"{"a":1}"#, #"{"a":{"b":1}}"#, "/a", .changed), (#"{"a":{"b":1}}"#, #"{"a":1}"#, "/a", .changed),
            (#"{"a":[]}"#, #"{"a":{}}"#, "/a", .changed), (#"{"a":1}"#, #"{"a":"1"}"#, "/a", .changed),
            (#"{"a":null}"#, #"{"a":"null"}"#, "/a", .changed), ("1", "2", "", .changed),
            (#"{"a/b":{"~":1}}"#, #"{"a/b":{"~":2}}"#, "/a~1b/~0", .changed),
            (#"{"id":9007199254740993}"#, #"{"id":9007199254740992}"#, "/id", .changed),
        ] as [(String, String, String, ContentDifference.Change)]
    )
    func firstDifferenceIsNamed(
        _ asked: String,
        _ recorded: String,
        _ pointer: String,
        _ change: ContentDifference.Change
    ) throws {
        let found = try difference(asked, recorded)
        #expect(found.pointer == pointer && found.change == change, "\(found)")
    }

    @Test func whiteSpaceEscapesAndOrderAreNoDifference() throws {
        let found = try difference(#"{"a":"A","b":[1,2]}"#, #" { "b" : [1, 2] , "a" : "\u0041" } "#)
        #expect(found.pointer == nil)
    }

    @Test func ignoredMembersAreNotCompared() throws {
        let paths = ["user", "messages[*].id"]
        let one = try outline(#"{"user":"a","messages":[{"id":1,"t":"x"}]}"#, ignoring: paths)
        let other = try outline(#"{"user":{"b":1},"messages":[{"id":2,"t":"x"}]}"#, ignoring: paths)
        #expect(one == other && one.leaves.map(\.pointer) == ["/messages/0/t"])
    }

    /// Mutant: members with the names of secrets have digests.
    @Test(arguments: ["password", "api_key", "Client-Secret", "token", "x-amz-signature"])
    func membersThatMayBeSecretsHaveNoDigest(_ name: String) throws {
        let one = try outline(#"{"\#(name)":"5ecret","a":1}"#)
        let other = try outline(#"{"\#(name)":{"x":["other"]},"a":1}"#)
        #expect(one == other && one.leaves.map(\.pointer) == ["/a"])
    }

    /// Mutant: digests are the same in all jobs.
    @Test func outlineTellsNoValueAndDependsOnTheJob() throws {
        let (one, other) = (try outline(Self.chat), try outline(Self.chat, salt: "b"))
        #expect(!one.leaves.contains { "\($0)".contains("Hello") })
        for (mine, theirs) in zip(one.leaves, other.leaves) {
            #expect(mine.pointer == theirs.pointer && mine.digest != theirs.digest)
        }
    }

    @Test(arguments: [#"{"a":1,"a":1}"#, #"{"a":1"#, "", #"{"a":"\ud800"}"#, #"{"\u00e9":1,"e\u0301":2}"#])
    func contentThatServersMayReadDifferentlyHasNoOutline(_ json: String) {
        #expect(throws: JSONScanner.ScanError.self) { try outline(json) }
    }

    @Test func outlineIsBounded() throws {
        let many = "[" + (0..<5000).map { "\($0)" }.joined(separator: ",") + "]"
        let cut = try outline(many)
        #expect(cut.isCut && cut.leaves.count == JSONOutline.maximumLeaves)
        let names = (0..<400).map { "\"\(String(repeating: "n", count: 900))\($0)\":1" }.joined(separator: ",")
        let long = try outline("{\(names)}")
        #expect(long.isCut && long.length <= JSONOutline.maximumLength && !long.leaves.isEmpty)
        // A member beyond the limit is not taken for one that is missing.
        let short = try outline("[0,1]")
        #expect(ContentDifference(cut, from: short).change == .added)
        #expect(ContentDifference(try outline(many.replacing("]", with: ",1]")), from: cut).pointer == nil)
        #expect(ContentDifference(short, from: cut).change == .missing)
    }
}
