import CacheRules
import HTTPCache
package import HTTPCacheOperations

extension Configuration {
    /// `fleet`: the settings for the nodes of a fleet, which share a purge log through Redis or
    /// Valkey.
    package struct Fleet: Sendable, Hashable {
        /// `url`: `redis://host:6379`, `rediss://user@host:6379`,
        /// `redis+sentinel://primary@host:26379,host:26379`, or
        /// `redis+cluster://host:6379,host:6379`. `nil` disables sharing.
        package var url: String?
        /// `password`: the source of the Redis user's password.
        package var password: Secret?
        /// `tls`: the PEM files and the server name for TLS connections to the server.
        package var tls = TLS()
        /// `namespace`: the fleet's name on the server.
        package var namespace: String?
        /// `node`: this node's name. `nil` uses the host name.
        package var node: String?
        /// `secret`: the source of the secret that all nodes of the fleet share. The secret has at
        /// least 32 bytes.
        package var secret: Secret?
        /// `previous-secret`: the source of the secret before the current one. Nodes still accept
        /// it for decryption.
        package var previousSecret: Secret?
        /// `next-secret`: the source of the secret that will replace the current one. Nodes already
        /// accept it for decryption.
        package var nextSecret: Secret?
        /// `share`: the data to share.
        package var share = Share.invalidations
        /// `timeout`: the time limit for one call to the server.
        package var timeout = Duration.milliseconds(50)
        /// `quorum`: the number of replicas that must confirm a write to the log before this node
        /// may forget the write. With 0, the primary's confirmation is enough.
        package var quorum = 0
        /// `acknowledge`: the level that a purge waits for if its client specifies none. A purge
        /// that does not reach the level in time still succeeds.
        package var acknowledge = PurgeLevel.published
        /// `largest-body`: the maximum length of a shared body, in bytes.
        package var largestBody: Int64 = 8 << 20
        /// `longest`: the maximum time that the server keeps a response.
        package var longest = Duration.seconds(24 * 3600)
        /// `collapse.wait`: how long a node waits for another node that is fetching from the
        /// origin. Zero disables waiting.
        package var collapseWait = Duration.seconds(1)
        /// `collapse.lease`: the time after which the other nodes stop waiting for a silent node.
        package var collapseLease = Duration.seconds(10)
        /// `cut-off`: how a node serves fresh responses while it is cut off, and may be missing
        /// purges from other nodes.
        package var cutOff = CutOff.serve
        /// `lease`: how long a confirmed contact with the log is valid. After this time without
        /// another contact, the node is cut off.
        package var lease = Duration.seconds(5)
        /// `retention.time`: how long the log keeps a purge.
        package var retentionTime = Duration.seconds(25 * 3600)
        /// `retention.entries`: the maximum number of purges in the log.
        package var retentionEntries = 1_000_000
        /// Creates settings with sharing disabled.
        package init() {}

        /// The path of the file with the password; `nil` if the password is in no file.
        package var passwordFile: String? { if case .file(let path) = password { path } else { nil } }

        /// The paths of the files with the secrets.
        package var secretFiles: [String] {
            [secret, previousSecret, nextSecret].compactMap { if case .file(let path) = $0 { path } else { nil } }
        }

        /// The data that nodes share.
        package enum Share: String, Sendable, Hashable, CaseIterable {
            /// Purges, and the invalidations of unsafe methods.
            case invalidations
            /// Purges and invalidations, and also the responses in the common partition.
            case responses
        }

        /// The ways in which a node that is cut off serves fresh responses.
        package enum CutOff: String, Sendable, Hashable, CaseIterable {
            /// The node serves them as usual.
            case serve
            /// The node validates them first, but still serves them if the origin is unreachable.
            case validate
        }

        /// The source of a secret. The secret is never in the file itself.
        package enum Secret: Sendable, Hashable {
            /// The name of an environment variable.
            case environment(String)
            /// The path of a file, relative to the configuration file. A trailing line break is
            /// ignored.
            case file(String)
        }

        /// The files for TLS.
        package struct TLS: Sendable, Hashable {
            /// `ca`: the path of a PEM file with the trusted roots. `nil` uses the system's roots.
            package var roots: String?
            /// `certificate`: the path of a PEM file with this node's certificate.
            package var certificate: String?
            /// `key`: the path of a PEM file with the certificate's key.
            package var key: String?
            /// `server-name`: the name that the server's certificate must have. `nil` uses the
            /// server's host.
            package var serverName: String?
            /// Creates settings that use the system's roots and no certificate.
            package init() {}

            /// The paths of all files.
            package var paths: [String] { [roots, certificate, key].compactMap(\.self) }
        }
    }
}

extension Configuration {
    /// Returns findings for `fleet` settings that are missing or contradict each other.
    ///
    /// - Parameter refused: the settings whose values could not be read.
    func fleetContradictions(refused: Set<String>) -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String, _ message: String) { findings.append(finding(setting, message)) }
        guard let url = fleet.url else {
            for setting in lines.keys.sorted() where setting.hasPrefix("fleet.") && setting != "fleet.url" {
                report(setting, "It has no effect without 'fleet.url'. Set 'fleet.url', or remove this setting.")
            }
            return findings
        }
        if fleet.share == .responses, !refused.contains("fleet.retention"),
            fleet.longest > fleet.retentionTime - .seconds(3600)
        {
            report(
                "fleet.longest",
                "It must be at least an hour shorter than 'time' in 'fleet.retention' (\(Quantity.written(fleet.retentionTime))), because a response is checked "
                    + "against all purges since it was fetched."
            )
        }
        if fleet.share == .invalidations, !refused.contains("fleet.share") {
            for setting in ["fleet.largest-body", "fleet.longest", "fleet.collapse"] where lines[setting] != nil {
                report(
                    setting,
                    "It has no effect without 'fleet.share: responses', because no responses are shared. Set that, or remove this setting."
                )
            }
        }
        if fleet.acknowledge == .replicated, fleet.quorum == 0, !refused.contains("fleet.quorum") {
            report(
                "fleet.acknowledge",
                "'replicated' has no effect with 'fleet.quorum: 0', because no replica needs to confirm a purge. Set 'fleet.quorum' to 1 or more, or write 'published'."
            )
        }
        if fleet.secret == nil, !refused.contains("fleet.secret") {
            report(
                "fleet.url",
                "'fleet.secret' is missing. All nodes need the same secret of 32 bytes or more. "
                    + "Create one with 'openssl rand -hex 32', and write '{file: PATH}' or '{env: NAME}'."
            )
        }
        if fleet.namespace == nil, !refused.contains("fleet.namespace") {
            report("fleet.url", "'fleet.namespace' is missing. Set the fleet's name on the server, such as 'shop'.")
        }
        if fleet.tls != Fleet.TLS(), !["rediss", "valkeys"].contains(where: url.lowercased().hasPrefix) {
            report("fleet.tls", "It has no effect without TLS. Begin 'fleet.url' with 'rediss', or remove the setting.")
        }
        if (fleet.tls.certificate == nil) != (fleet.tls.key == nil) {
            report("fleet.tls", "'certificate' and 'key' belong together. Set both or neither.")
        }
        return findings
    }

    /// Reads the secrets of `fleet`.
    ///
    /// - Parameter environment: the environment variables.
    /// - Throws: `ConfigurationError` if a variable or a file is missing, or a secret is too
    ///   short. No message contains a secret.
    package func fleetSecrets(
        environment: [String: String]
    ) throws -> (secret: String, previous: String?, next: String?) {
        let secret = try value(of: fleet.secret, "fleet.secret", environment) ?? ""
        let previous = try value(of: fleet.previousSecret, "fleet.previous-secret", environment)
        let next = try value(of: fleet.nextSecret, "fleet.next-secret", environment)
        try checkLength(of: secret, "fleet.secret")
        try checkLength(of: previous, "fleet.previous-secret")
        try checkLength(of: next, "fleet.next-secret")
        return (secret, previous, next)
    }

    private func checkLength(of secret: String?, _ setting: String) throws {
        guard let length = secret?.utf8.count, length < Self.shortestFleetSecret else { return }
        throw ConfigurationError([
            finding(
                setting,
                "The secret has \(length) bytes. "
                    + "It needs at least \(Self.shortestFleetSecret). Create one with 'openssl rand -hex 32'."
            )
        ])
    }

    /// Reads the password of `fleet`.
    ///
    /// - Throws: `ConfigurationError` if its variable or file is missing.
    package func fleetPassword(environment: [String: String]) throws -> String? {
        try value(of: fleet.password, "fleet.password", environment)
    }

    private func value(
        of secret: Fleet.Secret?,
        _ setting: String,
        _ environment: [String: String]
    ) throws -> String? {
        guard let secret else { return nil }
        let sources = FieldSources(environment: environment, folder: file.map(Self.folder))
        do throws(Refusal) {
            switch secret {
            case .environment(let name): return try sources.value(of: .environment(name))
            case .file(let path): return try sources.value(of: .file(path))
            }
        } catch {
            throw ConfigurationError([references.hide(in: finding(setting, error.message))])
        }
    }

    /// The minimum length of a fleet secret, in bytes.
    static let shortestFleetSecret = 32

    /// The files of `fleet.tls`, with paths that can be opened.
    package var fleetTLS: Fleet.TLS {
        var tls = fleet.tls
        tls.roots = tls.roots.map(besideFile)
        tls.certificate = tls.certificate.map(besideFile)
        tls.key = tls.key.map(besideFile)
        return tls
    }
}
