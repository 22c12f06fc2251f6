import HTTPCacheSemantics
import Testing

@testable import HoldfastControl

/// The variables by which a service manager passes sockets.
@Suite(.timeLimit(.minutes(20))) struct SocketActivationTests {
    private func activation(_ environment: [String: String]) throws(InvalidSetting) -> SocketActivation {
        try SocketActivation(environment: environment, process: 7, limit: 16)
    }

    @Test func socketsOfThisProcessAreTaken() throws {
        let one = try activation(["LISTEN_PID": "7", "LISTEN_FDS": "1"])
        #expect(one.sockets == [SocketActivation.Socket(descriptor: 3, name: "")])
        let two = try activation(["LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http:"])
        #expect(two.sockets.map(\.descriptor) == [3, 4] && two.sockets.map(\.name) == ["http", ""])
    }

    @Test(arguments: [
        [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "8", "LISTEN_FDS": "1"], ["LISTEN_PID": "7"],
        ["LISTEN_PID": "7", "LISTEN_FDS": "0"], ["LISTEN_PID": "7", "LISTEN_FDS": ""],
        ["LISTEN_PID": "", "LISTEN_FDS": "1"],
    ])
    func socketsOfAnotherProcessAreNot(_ environment: [String: String]) throws {
        #expect(try activation(environment).sockets.isEmpty)
    }

    @Test(arguments: [
        (["LISTEN_PID": "seven", "LISTEN_FDS": "1"], "'LISTEN_PID' must be a process ID, not 'seven'"),
        (["LISTEN_PID": "-7", "LISTEN_FDS": "1"], "'LISTEN_PID' must be a process ID, not '-7'"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "one"], "'LISTEN_FDS' must be a number of sockets from 0 to 16, not 'one'"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "17"], "a number of sockets from 0 to 16"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "a:b"], "'LISTEN_FDNAMES' has 2 names"),
        (["LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "control"], "'control.socket'"),
    ])
    func malformedVariablesAreRefused(_ environment: [String: String], _ expected: String) {
        let refusal = #expect(throws: InvalidSetting.self) { try activation(environment) }
        #expect(refusal?.description.contains(expected) == true)
    }
}
