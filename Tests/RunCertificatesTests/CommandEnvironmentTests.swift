import Testing

@testable import RunCertificates

@Suite(.timeLimit(.minutes(20))) struct CommandEnvironmentTests {
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

    @Test func optionsOfJavaAreExtended() throws {
        #expect(environment.variables(over: ["JAVA_TOOL_OPTIONS": "-Xmx1g"])["JAVA_TOOL_OPTIONS"] == "-Xmx1g")
        let options = try options(of: "http://holdfast:secret@127.0.0.1:4000", over: "-Xmx1g -Dhttp.proxyHost=company")
        #expect(options.prefix(2) == ["-Xmx1g", "-Dhttp.proxyHost=company"])
        for scheme in ["http", "https"] {
            for option in ["Host=127.0.0.1", "Port=4000", "User=holdfast", "Password=secret"] {
                #expect(options.dropFirst(2).contains("-D\(scheme).proxy\(option)"), "\(option)")
            }
        }
        #expect(options.contains("-Djavax.net.ssl.trustStore=/tmp/run/trusted.jks"))
        // Without it, requests to this machine would go around the proxy.
        #expect(options.contains("-Dhttp.nonProxyHosts="))
    }

    @Test func proxyWithoutAPasswordHasNoUserForJava() throws {
        let options = try options(of: "http://127.0.0.1:4000", over: nil)
        #expect(options.contains("-Dhttps.proxyHost=127.0.0.1") && options.contains("-Dhttps.proxyPort=4000"))
        #expect(!options.contains { $0.contains("proxyUser") || $0.contains("proxyPassword") })
    }

    private func options(of proxy: String, over existing: String?) throws -> [String] {
        let environment = CommandEnvironment(
            proxy: proxy,
            bundle: "/b",
            wgetFile: "/w",
            aptFile: "/a",
            javaFile: "/tmp/run/trusted.jks"
        )
        let variables = environment.variables(over: existing.map { ["JAVA_TOOL_OPTIONS": $0] } ?? [:])
        return try #require(variables["JAVA_TOOL_OPTIONS"]).split(separator: " ").map(String.init)
    }

    @Test func homeIsTheCallersUnlessItHasADatabase() {
        #expect(environment.variables(over: ["HOME": "/home/a"])["HOME"] == "/home/a")
        let environment = CommandEnvironment(
            proxy: "",
            bundle: "/b",
            wgetFile: "/w",
            aptFile: "/a",
            home: "/tmp/run/home"
        )
        #expect(environment.variables(over: ["HOME": "/home/a"])["HOME"] == "/tmp/run/home")
    }

    @Test func settingsForAptAreExtended() {
        let text = environment.aptConfiguration(including: "/etc/own.conf")
        #expect(text.hasPrefix("#include \"/etc/own.conf\";\n"))
        #expect(text.contains("Acquire::https::Proxy \"http://holdfast:secret@127.0.0.1:4000\";\n"))
        #expect(text.contains("Acquire::https::CaInfo \"/tmp/run/trusted.pem\";\n"))
        #expect(!environment.aptConfiguration(including: nil).contains("#include"))
    }
}
