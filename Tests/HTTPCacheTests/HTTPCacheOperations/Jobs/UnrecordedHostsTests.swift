import HTTPCacheOperations
import Testing

/// A job names the hosts of requests that are not in it. It is bounded, because clients name hosts.
@Suite(.timeLimit(.minutes(20))) struct UnrecordedHostsTests {
    @Test func firstReasonForAHostStays() {
        var hosts = UnrecordedHosts()
        #expect(hosts.isEmpty)
        hosts.addUnread("a.example", "one")
        hosts.addUnread("a.example", "two")
        hosts.addRefused("b.example:25", "three")
        #expect(hosts.unread == ["a.example": "one"] && hosts.refused == ["b.example:25": "three"])
        #expect(
            hosts.sentences == [
                "requests to 'a.example' could not be read (one)", "requests to 'b.example:25' were refused (three)",
            ]
        )
    }

    /// Mutant: a job names any number of hosts.
    @Test func hostsAreBounded() {
        var hosts = UnrecordedHosts()
        for number in 0..<1000 {
            hosts.addUnread("a\(number).example", "one")
            hosts.addRefused("a\(number).example", "one")
        }
        #expect(hosts.unread.count == UnrecordedHosts.limit + 1 && hosts.refused.count == UnrecordedHosts.limit + 1)
        #expect(hosts.unread[UnrecordedHosts.others] == "one")
        let lists = (hosts.unread.map { ($0, $1) }, hosts.refused.map { ($0, $1) })
        #expect(UnrecordedHosts(unread: lists.0, refused: lists.1) == hosts)
        #expect(UnrecordedHosts(unread: lists.0 + [("b", "one")], refused: []) == nil)
    }

    @Test(arguments: ["", "a\u{1B}[31m", String(repeating: "a", count: 513)])
    func textsThatAreNotShownAreReplaced(text: String) {
        var hosts = UnrecordedHosts()
        hosts.addUnread(text, "one")
        hosts.addRefused("a.example", text)
        #expect(hosts.unread == [UnrecordedHosts.others: "one"] && hosts.refused == ["a.example": "unknown reason"])
        #expect(UnrecordedHosts(unread: [(text, "one")], refused: []) == nil)
        #expect(UnrecordedHosts(unread: [], refused: [("a", text)]) == nil)
    }

    /// Mutant: an unused connection keeps a job from running.
    @Test func unusedTunnelCountsOnlyWithoutOtherRequests() {
        var hosts = UnrecordedHosts()
        hosts.addUnread("a.example", UnrecordedHosts.noRequest)
        hosts.addUnread("b.example", "the client does not trust the certificate")
        #expect(hosts.leavingOutUnusedTunnels(to: ["a.example", "b.example"]).unread.keys.sorted() == ["b.example"])
        #expect(hosts.leavingOutUnusedTunnels(to: ["c.example"]) == hosts)
        #expect(hosts.sentences.first?.hasPrefix("no request came through the tunnel to 'a.example'") == true)
    }
}
