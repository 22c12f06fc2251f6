import Testing

@testable import HoldfastTracing

/// `traceparent` and `tracestate`, by W3C Trace Context.
@Suite(.timeLimit(.minutes(20))) struct TraceContextTests {
    private static let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test func aValidContextIsReadAndWritten() throws {
        let context = try #require(TraceContext(traceparent: Self.valid))
        #expect(context.isSampled && context.isRemote && context.spanID == 0xb7ad_6b71_6920_3331)
        #expect(context.traceparent == Self.valid)
        let other = try #require(TraceContext(traceparent: Self.valid.dropLast(2) + "fe"))
        #expect(!other.isSampled && other.traceparent.hasSuffix("-00"))
    }

    @Test(arguments: [
        "", "00", String(valid.dropLast()), valid + "-", valid + "x", " " + valid, valid.uppercased(),
        "ff" + valid.dropFirst(2), "0x" + valid.dropFirst(2), "01" + valid.dropFirst(2) + "x",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00-0af7651916cd43dd8448eb211c80319C-b7ad6b7169203331-01",
        "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
    ])
    func anInvalidContextIsIgnored(_ text: String) { #expect(TraceContext(traceparent: text) == nil) }

    @Test(arguments: ["", "-", "-more-fields"])
    func aLaterVersionIsReadAsTheFirst(_ more: String) throws {
        let context = try #require(TraceContext(traceparent: "cc" + Self.valid.dropFirst(2) + more))
        #expect(context.traceparent == Self.valid)
    }

    @Test func severalContextsAreNone() {
        #expect(RequestTracer.context(traceparents: [Self.valid, Self.valid], states: []) == nil)
    }

    @Test func membersArePassedOnInOrder() {
        #expect(TraceState.passing("a=1, b@c=2 ,,\td/e= 3") == "a=1,b@c=2,d/e= 3")
    }

    @Test(arguments: ["a", "A=1", "1=1", "a=", "a=1,a=2", "a=b=c", "@b=1", "a@=1", "a@b@c=1", "a=\u{e9}", "\u{e9}=1"])
    func invalidMembersMakeTheWholeInvalid(_ text: String) { #expect(TraceState.passing("ok=1," + text) == "") }

    @Test func thirtyTwoMembersAreTheMost() {
        let members = (0..<32).map { "k\($0)=v" }
        #expect(TraceState.passing(members.joined(separator: ",")) == members.joined(separator: ","))
        #expect(TraceState.passing((members + ["one=more"]).joined(separator: ",")) == "")
    }

    @Test func longMembersGoBeforeTheLastOnes() {
        let long = "long=" + String(repeating: "x", count: 200)
        let short = (0..<6).map { "k\($0)=" + String(repeating: "y", count: 77) }
        #expect(TraceState.passing(([long] + short).joined(separator: ",")) == short.joined(separator: ","))
        let nine = (0..<9).map { "k\($0)=" + String(repeating: "y", count: 77) }
        #expect(TraceState.passing(nine.joined(separator: ",")) == nine.prefix(6).joined(separator: ","))
    }
}
