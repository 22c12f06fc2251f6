public import HTTPCache

extension Configuration {
    /// `fleet`: the log of purges that the nodes of a fleet share, on a Redis or Valkey.
    public struct Fleet: Sendable, Hashable {
        /// `url`: `redis://host:6379`, `rediss://user@host:6379`,
        /// `redis+sentinel://primary@host:26379,host:26379`, or
        /// `redis+cluster://host:6379,host:6379`. `nil`: nothing is shared.
        public var url: String?
        /// `password`: where the password of the server's user is found.
        public var password: Secret?
        /// `tls`: files for an address with TLS.
        public var tls = TLS()
        /// `namespace`: the fleet's name on the server.
        public var namespace: String?
        /// `node`: this node's name. `nil`: the host's name.
        public var node: String?
        /// `secret`: where the secret is found that all nodes of the fleet share: 32 bytes or more.
        public var secret: Secret?
        /// `previous-secret`: where the secret is found that it replaces. It still opens.
        public var previousSecret: Secret?
        /// `next-secret`: where the secret is found that will replace it. It already opens.
        public var nextSecret: Secret?
        /// `share`: the things that are shared.
        public var share = Share.invalidations
        /// `timeout`: for one call of the server.
        public var timeout = Duration.milliseconds(50)
        /// `quorum`: the number of replicas that have to confirm what was written before this node
        /// forgets it.
        public var quorum = 0
        /// `acknowledge`: how far a purge has to come before it is acknowledged, if its client
        /// names no level.
        public var acknowledge = PurgeLevel.published
        /// `largest-body`: the longest body that is shared, in bytes.
        public var largestBody: Int64 = 8 << 20
        /// `longest`: how long the server keeps a response at most.
        public var longest = Duration.seconds(24 * 3600)
        /// `collapse.wait`: how long a node waits for another one that asks the origin. Zero: it
        /// does not wait.
        public var collapseWait = Duration.seconds(1)
        /// `collapse.lease`: how long the others believe a node that says nothing.
        public var collapseLease = Duration.seconds(10)
        /// `cut-off`: how a node serves fresh responses while it may miss purges of others.
        public var cutOff = CutOff.serve
        /// `lease`: how long a confirmed contact counts.
        public var lease = Duration.seconds(5)
        /// `retention.time`: how long the log keeps a purge.
        public var retentionTime = Duration.seconds(25 * 3600)
        /// `retention.entries`: how many purges the log keeps.
        public var retentionEntries = 1_000_000
        /// Nothing is shared.
        public init() {}

        /// The things that nodes share.
        public enum Share: String, Sendable, Hashable, CaseIterable {
            /// Purges, and the invalidations of unsafe methods.
            case invalidations
            /// The same, and the responses that are stored for everybody.
            case responses
        }

        /// The behaviour of a node that is cut off.
        public enum CutOff: String, Sendable, Hashable, CaseIterable {
            /// It serves what is fresh.
            case serve
            /// It validates what is fresh, and serves it all the same if the origin is unreachable.
            case validate
        }

        /// The place of a secret. It never stands in the file itself.
        public enum Secret: Sendable, Hashable {
            /// The name of a variable of the environment.
            case environment(String)
            /// The path of a file, relative to the configuration file. A line break at its end does
            /// not count.
            case file(String)
        }

        /// The files for TLS.
        public struct TLS: Sendable, Hashable {
            /// `ca`: the path of a PEM file with the trusted roots. `nil`: those of the system.
            public var roots: String?
            /// `certificate`: the path of a PEM file with this node's certificate.
            public var certificate: String?
            /// `key`: the path of a PEM file with its key.
            public var key: String?
            /// `server-name`: the name that the server's certificate must have. `nil`: its host.
            public var serverName: String?
            /// The system's roots, and no certificate.
            public init() {}
        }
    }
}

extension Configuration {
    /// The settings of `fleet` that are missing, or that contradict each other.
    func fleetContradictions() -> [ConfigurationError.Finding] {
        var findings: [ConfigurationError.Finding] = []
        func report(_ setting: String, _ message: String) {
            findings.append(.init(file: file, line: lines[setting], setting: setting, message: message))
        }
        guard let url = fleet.url else {
            for setting in lines.keys.sorted() where setting.hasPrefix("fleet.") && setting != "fleet.url" {
                report(setting, "It has no effect without 'fleet.url'.")
            }
            return findings
        }
        if fleet.share == .responses, fleet.longest > fleet.retentionTime - .seconds(3600) {
            report(
                "fleet.longest",
                "It must be at least an hour shorter than 'fleet.retention' keeps purges, because a response is checked "
                    + "against all purges since it was fetched."
            )
        }
        if fleet.secret == nil {
            report(
                "fleet.url",
                "'fleet.secret' is missing. All nodes need the same secret of 32 bytes or more. "
                    + "Create one with 'openssl rand -hex 32', and write '{file: PATH}' or '{env: NAME}'."
            )
        }
        if fleet.namespace == nil {
            report("fleet.url", "'fleet.namespace' is missing. Set the fleet's name on the server, such as 'shop'.")
        }
        if fleet.tls != Fleet.TLS(), !url.hasPrefix("rediss"), !url.hasPrefix("valkeys") {
            report("fleet.tls", "It has no effect: 'fleet.url' does not begin with 'rediss'.")
        }
        if (fleet.tls.certificate == nil) != (fleet.tls.key == nil) {
            report("fleet.tls", "'certificate' and 'key' belong together. Set both or neither.")
        }
        return findings
    }

    /// The secrets of `fleet`, read now.
    ///
    /// - Parameter environment: the variables by name.
    /// - Throws: ``ConfigurationError``: a variable or a file is missing, or the secret is too
    ///   short. No message holds a secret.
    package func fleetSecrets(
        environment: [String: String]
    ) throws -> (password: String?, secret: String, previous: String?, next: String?) {
        func value(_ setting: String, _ secret: Fleet.Secret?) throws -> String? {
            guard let secret else { return nil }
            let folder = file.flatMap { file in file.lastIndex(of: "/").map { String(file[..<$0]) } }
            do throws(Refusal) {
                let sources = FieldSources(environment: environment, folder: folder)
                switch secret {
                case .environment(let name): return try sources.value(of: .environment(name))
                case .file(let path): return try sources.value(of: .file(path))
                }
            } catch {
                throw ConfigurationError([
                    .init(file: file, line: lines[setting], setting: setting, message: error.message)
                ])
            }
        }
        let secret = try value("fleet.secret", fleet.secret) ?? ""
        let previous = try value("fleet.previous-secret", fleet.previousSecret)
        let next = try value("fleet.next-secret", fleet.nextSecret)
        for (setting, secret) in [
            ("fleet.secret", secret), ("fleet.previous-secret", previous ?? secret),
            ("fleet.next-secret", next ?? secret),
        ] {
            guard secret.utf8.count >= Self.shortestFleetSecret else {
                throw ConfigurationError([
                    .init(
                        file: file,
                        line: lines[setting],
                        setting: setting,
                        message: "The secret has \(secret.utf8.count) bytes. "
                            + "It needs at least \(Self.shortestFleetSecret). Create one with 'openssl rand -hex 32'."
                    )
                ])
            }
        }
        return (try value("fleet.password", fleet.password), secret, previous, next)
    }

    /// The shortest secret of a fleet, in bytes.
    static let shortestFleetSecret = 32

    /// The files of `fleet.tls`, with the paths at which they can be read.
    package var fleetTLS: Fleet.TLS {
        var tls = fleet.tls
        tls.roots = tls.roots.map(besideFile)
        tls.certificate = tls.certificate.map(besideFile)
        tls.key = tls.key.map(besideFile)
        return tls
    }
}
