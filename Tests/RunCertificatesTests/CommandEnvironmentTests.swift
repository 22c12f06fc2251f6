import Testing

@testable import RunCertificates

@Suite struct CommandEnvironmentTests {
    private let environment = CommandEnvironment(
        proxy: "http://holdfast:secret@127.0.0.1:4000",
        bundle: "/tmp/run/trusted.pem",
        wgetFile: "/tmp/run/wgetrc",
        aptFile: "/tmp/run/apt.conf"
    )

    @Test(arguments: [
        "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "npm_config_proxy",
        "npm_config_https_proxy",
    ])
    func toolsFindTheProxy(variable: String) {
        #expect(environment.variables(over: [variable: "other"])[variable] == "http://holdfast:secret@127.0.0.1:4000")
    }

    @Test(arguments: [
        "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
        "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "AWS_CA_BUNDLE", "NIX_SSL_CERT_FILE", "DENO_CERT",
    ])
    func toolsTrustTheAuthority(variable: String) {
        #expect(environment.variables(over: [:])[variable] == "/tmp/run/trusted.pem")
        #expect(CommandEnvironment.certificateFiles(in: [variable: "/etc/company.pem"]) == ["/etc/company.pem"])
    }

    @Test func noHostIsReachedWithoutTheProxy() {
        let existing = ["no_proxy": "*", "NO_PROXY": "a", "npm_config_noproxy": "b", "X": "y"]
        let variables = environment.variables(over: existing)
        #expect(variables.keys.filter { $0.lowercased().hasSuffix("no_proxy") || $0.hasSuffix("noproxy") }.isEmpty)
        #expect(variables["X"] == "y" && variables["NODE_USE_ENV_PROXY"] == "1")
    }

    @Test func eachFileOfTheCallerIsReadOnce() {
        let files = CommandEnvironment.certificateFiles(in: [
            "SSL_CERT_FILE": "/a.pem", "PIP_CERT": "/a.pem", "CURL_CA_BUNDLE": "", "NODE_EXTRA_CA_CERTS": "/b.pem",
        ])
        #expect(files == ["/a.pem", "/b.pem"])
    }

    @Test(arguments: [("", ""), ("timeout = 5", "timeout = 5\n"), ("timeout = 5\n", "timeout = 5\n")])
    func settingsForWgetAreExtended(existing: String, start: String) {
        let text = environment.wgetConfiguration(after: existing)
        #expect(text == start + "ca_certificate = /tmp/run/trusted.pem\n")
    }

    @Test func settingsForAptAreExtended() {
        let text = environment.aptConfiguration(including: "/etc/own.conf")
        #expect(text.hasPrefix("#include \"/etc/own.conf\";\n"))
        #expect(text.contains("Acquire::https::Proxy \"http://holdfast:secret@127.0.0.1:4000\";\n"))
        #expect(text.contains("Acquire::https::CaInfo \"/tmp/run/trusted.pem\";\n"))
        #expect(!environment.aptConfiguration(including: nil).contains("#include"))
    }
}
