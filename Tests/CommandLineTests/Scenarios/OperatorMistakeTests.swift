import Foundation
import SampleOrigin
import TestSupport
import Testing

/// Commands that an operator gets wrong, or that meet a gateway or a store in a bad state.
@Suite(.timeLimit(.minutes(20))) struct OperatorMistakeTests {
    private static let noStore = ["HOLDFAST_STORE": "", "HOLDFAST_CONFIG": "", "HOLDFAST_ORIGIN": ""]

    @Test(arguments: [["status"], ["reload"], ["purge", "--all"], ["pin", "--all"], ["try", "http://a.example/"]])
    func missingStoreIsAnErrorOfTheCommandLine(arguments: [String]) async throws {
        let outcome = try await Tool("holdfast").run(arguments: arguments, environment: Self.noStore)
        #expect(outcome.status == 64 && outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("Error: No store is set. Use '--store'"), "\(outcome.error)")
        #expect(outcome.error.contains("\nUsage: holdfast \(arguments[0]) "), "\(outcome.error)")
    }

    @Test func socketIsAPath() async throws {
        let outcome = try await Tool("holdfast").run("status", "--socket", "http://127.0.0.1:28300")
        #expect(outcome.status == 64 && outcome.error.contains("'--socket' is the path of a Unix socket, not a URL."))
    }

    @Test func placesWithoutAGatewayAreNamed() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("gateway.yaml").path
            try Data("version: 1".utf8).write(to: URL(fileURLWithPath: file))
            let link = folder.appendingPathComponent("link").path
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file + ".gone")
            for (option, path, words) in [
                ("--socket", file, "'\(file)' is not a socket."),
                ("--socket", folder.path, "If it is a store, use '--store'."),
                ("--socket", link, "The link '\(link)' leads to no file, so its gateway is not running."),
                ("--store", folder.path, "'\(folder.path)' is not a store: it contains other files"),
                ("--store", file, "'\(file)' is not a store: it is a file"),
            ] {
                let outcome = try await Tool("holdfast").run("status", option, path)
                #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
            }
        }
    }

    @Test func placeOfTheStoreThatChangedIsNamed() async throws {
        try await TemporaryFolder.with { folder in
            let file = folder.appendingPathComponent("gateway.yaml").path
            try Data("version: 1\nstore: {path: new}\n".utf8).write(to: URL(fileURLWithPath: file))
            let outcome = try await Tool("holdfast").run("status", "--config", file)
            let words =
                "If 'store.path' changed, or the folder was deleted while a gateway used it, restart that gateway."
            #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
        }
    }

    /// Mutant: `replaced-store-is-not-logged`.
    @Test func settingThatReplacesTheStoreIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                try folder.write(origin)
                let variables = ["HOLDFAST_STORE": folder.path + "/other", "RUNTIME_DIRECTORY": ""]
                let arguments = ["--config", folder.file]
                let ending = try await RunningServer.with(arguments, environment: variables) { server in
                    let line = await server.log.line(containing: "Another setting replaces 'store.path'")
                    #expect(line.contains("HOLDFAST_STORE") && line.contains(folder.store), "\(line)")
                    for command in [["status"], ["try", "http://a.test/"]] {
                        let outcome = try await Tool("holdfast").run(
                            arguments: command + ["--config", folder.file],
                            environment: Self.noStore
                        )
                        let words = "A gateway that was started with '--store' or HOLDFAST_STORE has another store:"
                        #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
                    }
                    server.signal(SIGTERM)
                }
                #expect(ending.status == 0)
            }
        }
    }

    /// Mutant: `handover-socket-is-asked`.
    @Test func socketForTakeoversIsTold() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let path = gateway.folder.store + "/handover.sock"
            let outcome = try await Tool("holdfast").run("status", "--socket", path)
            let control = gateway.folder.socket
            let words = "'\(path)' is the socket for 'holdfast serve --takeover'. The control socket is '\(control)'."
            #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
        }
    }

    @Test func folderThatMayHaveBeenReplacedIsNamed() async throws {
        try await SampleStore.withClosed { store in
            let outcome = try await Tool("holdfast").run("status", "--store", store)
            let words = "If one is running, the store's folder was moved or replaced while in use: restart"
            #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
            #expect(!outcome.error.contains("HOLDFAST_STORE"), "\(outcome)")
        }
    }

    @Test(arguments: [["mode", "offline"], ["staleness", "2d"]])
    func negativeTimeIsNamed(_ words: [String]) async throws {
        let outcome = try await Tool("holdfast").run(arguments: words + ["--for", "-2h", "--store", "none"])
        #expect(outcome.status == 64 && outcome.error.contains("not '-2h'"), "\(outcome)")
    }

    @Test func methodInLowerCaseIsCorrected() async throws {
        let outcome = try await Tool("holdfast")
            .run("explain", "http://a.example/", "--store", "none", "--method", "get")
        let words = "Error: '--method' is case-sensitive. Write 'GET'."
        #expect(outcome.status == 64 && outcome.error.hasPrefix(words), "\(outcome)")
    }

    @Test(arguments: ["backup", "recover"], ["s3://bucket/store", "me@backup.example:/store"])
    func copyToAnotherMachineIsRejected(_ command: String, _ place: String) async throws {
        try await SampleStore.withClosed { store in
            let outcome = try await Tool.cacheDump.run(command, store, place)
            let words = "Error: '\(place)' is not a path on this machine."
            #expect(outcome.status == 64 && outcome.error.hasPrefix(words), "\(outcome)")
        }
    }

    @Test func missingDatabaseIsToldFromADamagedOne() async throws {
        try await SampleStore.withClosed { store in
            try Data("0009.sqlite\n".utf8).write(to: URL(fileURLWithPath: store + "/CURRENT"))
            let missing = try await Tool.cacheDump.run("list", store)
            let words = "/0009.sqlite' does not exist, although 'CURRENT' names it."
            #expect(missing.status == 1 && missing.error.contains(words), "\(missing)")
            try Data("0001.sqlite\n".utf8).write(to: URL(fileURLWithPath: store + "/CURRENT"))
            let file = try #require(FileHandle(forWritingAtPath: store + "/0001.sqlite"))
            try file.truncate(atOffset: 9000)
            try file.close()
            let damaged = try await Tool.cacheDump.run("verify", store)
            #expect(damaged.status == 1 && damaged.text.contains("Run 'cache-dump recover STORE NEW'"), "\(damaged)")
        }
    }

    @Test func reloadOfAnotherFileIsRejected() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let files = FileManager.default
            let (own, other) = (gateway.folder.file, gateway.folder.path + "/other.yaml")
            let link = gateway.folder.path + "/link.yaml"
            try files.copyItem(atPath: own, toPath: other)
            try files.createSymbolicLink(atPath: link, withDestinationPath: own)
            func reload(_ file: String) async throws -> Tool.Outcome {
                try await Tool("holdfast").run("reload", "--config", file)
            }
            for file in [own, link] { #expect(try await reload(file).text == "Reloaded. Nothing changed.\n") }
            let variable = ["HOLDFAST_CONFIG": other, "HOLDFAST_STORE": ""]
            for outcome in [
                try await reload(other), try await Tool("holdfast").run(arguments: ["reload"], environment: variable),
            ] {
                let words = "Error: '--config' is '\(other)', but the gateway runs with '\(own)'. Nothing was reloaded."
                #expect(outcome.status == 1 && outcome.output.isEmpty && outcome.error.contains(words), "\(outcome)")
            }
            let reloads = try await gateway.run(["status", "--format", "json"]).objects().first
            let configuration = reloads?["configuration"] as? [String: Any]
            #expect((configuration?["lastReload"] as? [String: Any])?["outcome"] as? String == "reloaded")
        }
    }

    private static let greeter = """
        import socket, sys
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1])
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            try:
                connection.sendall(b"220 mail.example ESMTP\\r\\n")
                connection.recv(65536)
            except OSError:
                pass  # The client has left.
            connection.close()
        """

    /// The library's own text describes its parser. Mutant: it is printed.
    @Test(.enabled(if: HoldfastMetricsTests.python != nil, "Python 3 is the other program"))
    func socketOfAnotherProgramIsNamed() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder.appendingPathComponent("s").path
            let python = try #require(HoldfastMetricsTests.python)
            let output = Pipe()
            let nothing = try #require(FileHandle(forWritingAtPath: "/dev/null"))
            let process = try ChildProcess(
                URL(fileURLWithPath: "/bin/sh"),
                ["-c", "exec '\(python)' -c \"$0\" '\(path)'", Self.greeter],
                output: output.fileHandleForWriting.fileDescriptor,
                error: nothing.fileDescriptor
            )
            try output.fileHandleForWriting.close()
            _ = try await process.end {
                _ = await OutputReader(output).firstLine()
                let outcome = try await Tool("holdfast").run("status", "--socket", path)
                let words = "The process behind '\(path)' sent no valid response to GET /v1/status. If it is a gateway,"
                #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
                kill(process.identifier, SIGKILL)
            }
        }
    }

    /// Mutant: the option is named although the file sets the address.
    @Test func takenPortOfAFileIsNamedWithItsLine() async throws {
        try await PurgedGateway.withOrigin { gateway, origin in
            try await PurgedGateway.Folder.with { folder in
                let text = """
                    version: 1
                    store: {path: s}
                    listen: 127.0.0.1:\(gateway.server.port)
                    routes: [{origin: "\(origin.baseURL)"}]
                    """
                try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
                let outcome = try await Tool("holdfast").run("serve", "--config", folder.file)
                let words = "\(folder.file):3: listen: The gateway cannot listen on '"
                #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
                #expect(!outcome.error.contains("'--listen'"), "\(outcome)")
            }
        }
    }

    @Test func unreadableContentIsNamedWithItsCause() async throws {
        try await SampleStore.withClosed { store in
            for (path, cause) in [(store + "/no", "No such file or directory"), (store, "It is not a file")] {
                let outcome = try await Tool("holdfast")
                    .run("explain", SampleStore.feed, "--store", store, "--content", path)
                #expect(outcome.status == 1, "\(outcome)")
                #expect(outcome.error.contains("The file '\(path)' of '--content' cannot be read: \(cause)."))
            }
        }
    }

    @Test func damagedHeaderIsNamed() async throws {
        try await SampleStore.withClosed { store in
            let database = store + "/0001.sqlite"
            let file = try #require(FileHandle(forWritingAtPath: database))
            try file.write(contentsOf: Data(repeating: 0x2E, count: 100))
            try file.close()
            let outcome = try await Tool.cacheDump.run("verify", store, "--full")
            #expect(outcome.status == 1, "\(outcome)")
            let words = "the header of '\(database)' is damaged, so nothing else was checked. Run 'cache-dump recover"
            #expect(outcome.text.contains(words), "\(outcome.text)")
            #expect(outcome.text.contains("; pages not checked)"), "\(outcome.text)")
            let copy = try await Tool.cacheDump.run("recover", store, store + ".new")
            #expect(copy.text.contains("6 responses and 2 objects"), "\(copy)")
        }
    }

    /// Root may do everything, so the commands run as another user.
    @Test(
        .enabled(if: getuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"), "needs root"),
        arguments: [
            (["purge", "--all", "--socket"], true), (["pin", "--all", "--socket"], true),
            (["unpin", "--all", "--socket"], true), (["status", "--socket"], true), (["list"], false),
        ]
    )
    func otherUserIsToldWhichUserMay(arguments: [String], usesSocket: Bool) async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            let tool = try Tool(usesSocket ? "holdfast" : "cache-dump").url.path
            let user = ["--reuid=65534", "--regid=65534", "--clear-groups"]
            let probe = try await Tool.run(URL(fileURLWithPath: "/usr/bin/setpriv"), user + [tool, "--help"])
            // Another user may not reach the build folder.
            guard probe.status == 0 else { return }
            let place = usesSocket ? gateway.folder.socket : gateway.folder.store
            let outcome = try await Tool.run(
                URL(fileURLWithPath: "/usr/bin/setpriv"),
                user + [tool] + arguments + [place]
            )
            let words =
                usesSocket
                ? "This user may not connect to the control socket '\(place)'."
                : "belongs to uid 0. Choose another folder, or run this as that user."
            #expect(outcome.status == 1 && outcome.error.contains(words), "\(outcome)")
        }
    }

    @Test func gatewayWithoutItsSocketIsNamed() async throws {
        try await PurgedGateway.withOrigin { gateway, _ in
            try FileManager.default.removeItem(atPath: gateway.folder.socket)
            let outcome = try await gateway.run(["status"])
            #expect(outcome.status == 1, "\(outcome)")
            #expect(outcome.error.contains("is open in 'holdfast' (pid "), "\(outcome.error)")
            #expect(outcome.error.contains("restart it"), "\(outcome.error)")
        }
    }

    @Test func storeThatIsLargerThanTheMachineIsLogged() async throws {
        try await PurgedGateway.Folder.with { folder in
            let text =
                "version: 1\nlisten: 127.0.0.1:0\nstore: {path: s, memory: 900 TiB}\nroutes: [{respond: {status: 404}}]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            let ending = try await RunningServer.with(["--config", folder.file]) { server in
                let line = await server.log.line(containing: "A limit of the store exceeds what the machine has")
                #expect(line.contains("store.setting=store.memory"), "\(line)")
                server.signal(SIGTERM)
            }
            #expect(ending.status == 0)
        }
    }

    /// Mutant: the file of the log is not checked at the start.
    @Test(arguments: ["none/access.log", "logs"])
    func gatewayDoesNotStartIfItsLogCannotBeWritten(log: String) async throws {
        try await PurgedGateway.Folder.with { folder in
            try FileManager.default.createDirectory(atPath: folder.path + "/logs", withIntermediateDirectories: false)
            let text =
                "version: 1\nlisten: 127.0.0.1:0\nstore: {path: s}\nlog: {to: \(log)}\nroutes: [{respond: {status: 404}}]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file))
            let holdfast = Tool("holdfast")
            let checked = try await holdfast.run(arguments: ["check", "--config", folder.file])
            let served = try await holdfast.run(arguments: ["serve", "--config", folder.file])
            let words = checked.error.split(separator: "\n")
            #expect(checked.status == 1 && words.count == 1 && words[0].contains("log.to: "), "\(checked)")
            #expect(served.status == 1 && served.error.split(separator: "\n").last == words.last, "\(served)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/s"))
        }
    }

    @Test func accessLogThatCannotBeOpenedIsNamed() async throws {
        try await PurgedGateway.Folder.with { folder in
            try await SampleOrigin.withOrigin { origin in
                let logs = folder.path + "/logs"
                try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: false)
                try folder.write(origin, "log: {access: all, to: logs/access.log}")
                try await PurgedGateway.with(folder) { gateway in
                    try FileManager.default.removeItem(atPath: logs)
                    gateway.server.signal(SIGUSR1)
                    let line = await gateway.server.log.line(containing: "Access log cannot be opened")
                    let words = "'\(logs)/access.log' cannot be opened: No such file or directory. Create its folder"
                    #expect(line.contains(words), "\(line)")
                    let status = try await gateway.run(["status"])
                    #expect(status.lines.contains { $0.contains("  rejected file  \(words)") }, "\(status)")
                    try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: false)
                    _ = try await gateway.get("/a")
                    while try await gateway.run(["status"]).text.contains("rejected file") {
                        try Task.checkCancellation()
                    }
                    #expect(FileManager.default.fileExists(atPath: logs + "/access.log"))
                }
            }
        }
    }
}
