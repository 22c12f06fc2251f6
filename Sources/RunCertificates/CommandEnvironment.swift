/// The environment of a command whose requests pass through a proxy with an authority of its own:
/// the variables by which common tools find the proxy and the trusted certificates.
///
/// Values of the caller that name files of certificates are not lost: ``certificateFiles(in:)``
/// lists the files, whose certificates belong in the bundle.
package struct CommandEnvironment: Sendable {
    /// The variables that name a file of trusted certificates.
    package static let certificateVariables = [
        // OpenSSL, and what is built on it: Python, Ruby, Go, wget with OpenSSL, uv.
        "SSL_CERT_FILE", "NIX_SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
        "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "AWS_CA_BUNDLE", "DENO_CERT",
    ]

    /// The variables that name the proxy.
    package static let proxyVariables = [
        "http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
        "npm_config_proxy", "npm_config_https_proxy",
    ]

    /// The variables that name hosts which are reached without the proxy.
    package static let exceptionVariables = ["no_proxy", "NO_PROXY", "npm_config_noproxy"]

    /// The proxy's URL, with the user and the password.
    package let proxy: String
    /// The path of the bundle of trusted certificates.
    package let bundle: String
    /// The paths of the configuration files for wget and apt, which read no such variables.
    package let wgetFile: String
    package let aptFile: String
    /// The path of the trust store for Java; `nil` if Java's programs find no proxy.
    package let javaFile: String?
    /// The path of the home folder with the database that Chromium reads; `nil` for the caller's.
    package let home: String?

    package init(
        proxy: String,
        bundle: String,
        wgetFile: String,
        aptFile: String,
        javaFile: String? = nil,
        home: String? = nil
    ) {
        self.proxy = proxy
        self.bundle = bundle
        self.wgetFile = wgetFile
        self.aptFile = aptFile
        self.javaFile = javaFile
        self.home = home
    }

    /// Returns the caller's environment with the variables.
    package func variables(over existing: [String: String]) -> [String: String] {
        var result = existing
        for name in Self.exceptionVariables { result[name] = nil }
        for name in Self.proxyVariables { result[name] = proxy }
        for name in Self.certificateVariables { result[name] = bundle }
        // Node reads the variables of a proxy since version 24 only if this is set.
        result["NODE_USE_ENV_PROXY"] = "1"
        // Git asks without the password first, and asks again on a new connection.
        result["GIT_HTTP_PROXY_AUTHMETHOD"] = "basic"
        result["WGETRC"] = wgetFile
        result["APT_CONFIG"] = aptFile
        if let home { result["HOME"] = home }
        if let javaFile {
            let own = javaOptions(javaFile).joined(separator: " ")
            // The last of several values of an option is in force.
            result["JAVA_TOOL_OPTIONS"] = existing["JAVA_TOOL_OPTIONS"].map { "\($0) \(own)" } ?? own
        }
        return result
    }

    /// Returns the options of Java's virtual machine, which reads no variables for proxies. Its own
    /// clients send no password. Those of Maven and Gradle read it from these options.
    private func javaOptions(_ file: String) -> [String] {
        let rest = proxy.dropFirst("http://".count)
        let parts = rest.split(separator: "@")
        let address = (parts.last ?? rest).split(separator: ":")
        let user = parts.count > 1 ? (parts.first ?? "").split(separator: ":") : []
        var options = ["-Dhttp.nonProxyHosts=", "-Djdk.http.auth.tunneling.disabledSchemes="]
        for scheme in ["http", "https"] {
            for (name, value) in zip(["Host", "Port"], address) { options.append("-D\(scheme).proxy\(name)=\(value)") }
            for (name, value) in zip(["User", "Password"], user) {
                options.append("-D\(scheme).proxy\(name)=\(value)")
            }
        }
        return options + ["-Djavax.net.ssl.trustStore=\(file)", "-Djavax.net.ssl.trustStoreType=JKS"]
    }

    /// Returns the files of certificates that the caller's environment names, each once.
    package static func certificateFiles(in existing: [String: String]) -> [String] {
        var files: [String] = []
        for name in certificateVariables {
            guard let file = existing[name], !file.isEmpty, !files.contains(file) else { continue }
            files.append(file)
        }
        return files
    }

    /// Returns the content of the file for wget, which ignores `SSL_CERT_FILE` if it is built with
    /// GnuTLS.
    ///
    /// - Parameter existing: the user's own file, which it replaces; empty if there is none.
    package func wgetConfiguration(after existing: String) -> String {
        let start = existing.isEmpty || existing.hasSuffix("\n") ? existing : existing + "\n"
        return start + "ca_certificate = \(bundle)\n"
    }

    /// Returns the content of the file for apt.
    ///
    /// - Parameter existing: the path of the file that `APT_CONFIG` names; `nil` if it names none.
    package func aptConfiguration(including existing: String?) -> String {
        let include = existing.map { "#include \"\($0)\";\n" } ?? ""
        return include + """
            Acquire::http::Proxy "\(proxy)";
            Acquire::https::Proxy "\(proxy)";
            Acquire::https::CaInfo "\(bundle)";

            """
    }
}
