import Foundation
import TestSupport
import Testing

/// An origin with TLS at an address of this machine that is not loopback: openssl, which sends
/// files with whole responses. Its certificate is its own authority.
struct SecureOrigin {
    let folder: URL
    let address: String
    let port: Int

    var url: String { "https://\(address):\(port)" }
    var authority: String { folder.path + "/origin.pem" }

    /// The first IPv4 address that is not loopback; `nil` if there is none.
    static let ownAddress: String? = {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return nil }
        defer { freeifaddrs(list) }
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let address = entry.ifa_addr, address.pointee.sa_family == sa_family_t(AF_INET) else { continue }
            var text = [CChar](repeating: 0, count: 64)
            let length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let code = getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            guard code == 0 else { continue }
            let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !name.hasPrefix("127.") { return name }
        }
        return nil
    }()

    static var canRun: Bool {
        ownAddress != nil && FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl")
    }

    /// Runs with an origin that responds to `/a` and `/b` with their names, fresh for ten minutes.
    ///
    /// - Parameter body: gets the origin, and a function that stops it.
    static func with(_ body: (SecureOrigin, _ stop: () -> Void) async throws -> Void) async throws {
        let address = try #require(ownAddress)
        try await TemporaryFolder.with { folder in
            for name in ["a", "b"] {
                let response = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 1\r\n"
                try Data("\(response)Connection: close\r\n\r\n\(name)".utf8).write(to: folder.appending(path: name))
            }
            let made = try await Tool.run(
                URL(fileURLWithPath: "/usr/bin/openssl"),
                [
                    "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout",
                    folder.path + "/origin.key", "-out", folder.path + "/origin.pem", "-days", "90", "-subj",
                    "/CN=origin", "-addext", "subjectAltName=IP:\(address)",
                ]
            )
            try #require(made.status == 0, "\(made.error)")
            let output = folder.appending(path: "output")
            try Data().write(to: output)
            let file = try FileHandle(forWritingTo: output)
            // In its folder, because the paths of requests are those of files.
            let server = "/usr/bin/openssl s_server -cert origin.pem -key origin.key -HTTP -accept"
            let script = #"cd "$0" && exec \#(server) "$1":0"#
            let process = try ChildProcess(
                URL(fileURLWithPath: "/bin/sh"),
                ["-c", script, folder.path, address],
                output: file.fileDescriptor,
                error: file.fileDescriptor
            )
            var isStopped = false
            let stop = {
                if !isStopped { kill(process.identifier, SIGKILL) }
                isStopped = true
            }
            _ = try await process.end {
                let origin = SecureOrigin(
                    folder: folder,
                    address: address,
                    port: try await Self.port(statedIn: output)
                )
                try await body(origin, stop)
                stop()
            }
        }
    }

    private static func port(statedIn output: URL) async throws -> Int {
        while true {
            let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
            let line = text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") }
            if text.hasSuffix("\n"), let port = line?.split(separator: ":").last.flatMap({ Int($0) }) { return port }
            try await Task.sleep(for: .milliseconds(10))  // lets time pass
        }
    }
}
