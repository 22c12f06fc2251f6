import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct ShellVariablesTests {
    @Test func onlyChangesArePrintedInOrder() {
        let variables = ShellVariables(
            ["B": "new", "A": "same", "C": "1", "HOME": "/root"],
            over: ["A": "same", "B": "old", "no_proxy": "*", "HOME": "/root"]
        )
        #expect(variables.lines == ["export B='new'", "export C='1'", "unset no_proxy"])
    }

    @Test(arguments: [
        ("", "''"), ("a b", "'a b'"), ("it's", #"'it'\''s'"#), ("$(reboot)`x`\"", #"'$(reboot)`x`"'"#),
        ("a\nb", "'a\nb'"),
    ])
    func valuesAreTextForTheShell(value: String, quoted: String) {
        #expect(ShellVariables(["A": value], over: [:]).lines == ["export A=\(quoted)"])
    }

    /// Bash exports functions under such names.
    @Test func namesThatAShellCannotSetAreLeftOut() {
        #expect(ShellVariables([:], over: ["BASH_FUNC_a%%": "() { :; }", "a;reboot": "x"]).lines.isEmpty)
    }
}
