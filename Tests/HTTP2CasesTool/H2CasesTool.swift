import Foundation
import HTTP2Cases
import NIOCore
import NIOPosix

/// Plays the cases of RFC 9113 and RFC 7541 to a server: `h2-cases HOST:PORT`.
@main
struct H2CasesTool {
    private static let usage = """
        usage: h2-cases HOST:PORT [--only TEXT] [--patience SECONDS] [--strict] [--own]

        Plays raw frames of HTTP/2 to a server that understands it without TLS from the first byte
        on, and prints a line for each case, with tabs: 'ok', 'no', 'known' or 'own', section, name,
        result, and a note. The server must respond to '/' with 16 bytes and to '/large' with
        100,000.

        --only TEXT         only cases whose section or name has this text
        --patience SECONDS  how long the server may send nothing (3)
        --strict            a connection error must be stated, with the code that the RFC names
        --own               the server is Holdfast: its own rules are judged, which otherwise get
                            'own', and its known defects get 'known' instead of 'no'
        """

    static func main() async {
        var (address, only, patience, isStrict, judgesOwn): (String?, String?, Int64, Bool, Bool) =
            (nil, nil, 3, false, false)
        var arguments = CommandLine.arguments.dropFirst()
        while let argument = arguments.popFirst() {
            switch argument {
            case "--help":
                print(usage)
                return
            case "--only": only = arguments.popFirst()
            case "--patience": patience = arguments.popFirst().flatMap { Int64($0) } ?? patience
            case "--strict": isStrict = true
            case "--own": judgesOwn = true
            default: address = argument
            }
        }
        guard let address, let colon = address.lastIndex(of: ":"),
            let port = Int(address[address.index(after: colon)...])
        else {
            FileHandle.standardError.write(Data("error: HOST:PORT is missing.\n\n\(usage)\n".utf8))
            exit(64)
        }
        let runner = CaseRunner(
            host: String(address[..<colon]),
            port: port,
            group: .singletonMultiThreadedEventLoopGroup,
            patience: .seconds(patience)
        )
        let cases = HTTP2Cases.all.filter { only == nil || $0.description.contains(only ?? "") }
        do {
            let lines = try await lines(of: cases, runner, isStrict: isStrict, judgesOwn: judgesOwn)
            for line in lines { print(line.joined(separator: "\t")) }
            exit(lines.contains { $0[0] == "no" } ? 1 : 0)
        } catch {
            FileHandle.standardError.write(Data("error: '\(address)': \(error)\n".utf8))
            exit(2)
        }
    }

    /// A few cases run at a time, because a server that does nothing costs the patience.
    private static func lines(
        of cases: [HTTP2Case],
        _ runner: CaseRunner,
        isStrict: Bool,
        judgesOwn: Bool
    ) async throws -> [[String]] {
        var lines = [[String]](repeating: [], count: cases.count)
        try await withThrowingTaskGroup(of: (Int, Observation).self) { group in
            for (index, entry) in cases.enumerated() {
                if index >= 8, let (index, seen) = try await group.next() { lines[index] = line(cases[index], seen) }
                group.addTask { (index, try await runner.run(entry)) }
            }
            while let (index, seen) = try await group.next() { lines[index] = line(cases[index], seen) }
        }
        return lines

        func line(_ entry: HTTP2Case, _ seen: Observation) -> [String] {
            var verdict = entry.expectation.isMet(by: seen, strictly: isStrict) ? "ok" : "no"
            if entry.section == HTTP2Cases.own, !judgesOwn { verdict = "own" }
            if verdict == "no", entry.defect != nil, judgesOwn { verdict = "known" }
            return [verdict, entry.section, printable(entry.name), seen.description, entry.note ?? ""]
        }
    }

    private static func printable(_ text: String) -> String {
        text.replacing("\t", with: "\\t").replacing("\n", with: "\\n")
    }
}
