extension Configuration {
    /// The store's folder, as a path that can be opened. A relative ``Store/path`` is resolved
    /// against the folder of the configuration file. `nil` if no path is set.
    public var storeFolder: String? { store.path.map(besideFile) }

    /// The path of the control plane's socket. A relative ``Control/socket`` is resolved against
    /// the folder of the configuration file. `nil` if no path is set.
    package var controlSocket: String? { control.socket.map(besideFile) }

    /// The tokens of the control plane, with file paths that can be opened.
    package var controlTokens: [Token] {
        control.tokens.map { Token(name: $0.name, file: besideFile($0.file), scope: $0.scope) }
    }

    /// The path of the file with the token for metrics, as a path that can be opened.
    package var metricsToken: String? { metrics.token.map(besideFile) }

    /// The TLS settings of the address for metrics, with paths that can be opened. The control
    /// plane serves HTTP/1.1 only.
    package var metricsTLS: TLS? {
        guard var tls = metrics.tls?.mapPaths(besideFile) else { return nil }
        tls.protocols = [.http11]
        return tls
    }

    /// The listeners, with Unix socket and certificate paths that can be opened.
    package var resolvedListeners: [Listener] {
        listeners.map { listener in
            switch listener {
            case .address(let address, let tls, let http2, let proxy):
                .address(address, tls: tls?.mapPaths(besideFile), http2: http2, proxyProtocol: proxy)
            case .unix(let path, let mode, let tls, let http2, let proxy):
                .unix(
                    path: besideFile(path),
                    mode: mode,
                    tls: tls?.mapPaths(besideFile),
                    http2: http2,
                    proxyProtocol: proxy
                )
            }
        }
    }

    /// The destination of the access log: `stderr`, `stdout`, or a path that can be opened. A
    /// relative ``Log/to`` is resolved against the folder of the configuration file.
    package var logDestination: String {
        guard let place = log.to, place != "stderr", place != "stdout" else { return log.to ?? "stderr" }
        return besideFile(place)
    }

    func besideFile(_ path: String) -> String {
        guard !path.hasPrefix("/"), let file, let slash = file.lastIndex(of: "/") else { return path }
        return String(file[...slash]) + path
    }
}
