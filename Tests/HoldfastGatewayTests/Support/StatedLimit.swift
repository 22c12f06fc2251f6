import Foundation
import Testing

/// A limit of the gateway as docs/limits.md states it.
struct StatedLimit {
    var name: String
    /// The default; a number of bytes or of anything else. `nil` if it is a time, or derived.
    var value: Int?
    /// The status of the response to a client that exceeds it; `nil` if no request is rejected.
    var status: Int?
    /// The end of the problem's `type`.
    var code: String?
    /// `detail` in `Cache-Status`.
    var detail: String?

    /// The limits of the page.
    static let all: [StatedLimit] = {
        let path = #filePath.replacing("Tests/HoldfastGatewayTests/Support/StatedLimit.swift", with: "docs/limits.md")
        let page = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return page.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { StatedLimit($0) }
    }()

    static func named(_ name: String) throws -> StatedLimit { try #require(all.first { $0.name == name }) }

    /// - Parameter line: limit, default, setting, effect, status, problem and detail.
    private init(_ line: Substring) {
        let cells = line.split(separator: "|").map { cell in
            cell.trimmingCharacters(in: .whitespaces).replacing("`", with: "")
        }
        precondition(cells.count == 7, "A row of docs/limits.md has \(cells.count) cells: \(line)")
        name = cells[0]
        value = Self.number(cells[1])
        status = Int(cells[4])
        code = cells[5].isEmpty ? nil : cells[5]
        detail = cells[6].isEmpty ? nil : cells[6]
    }

    private static func number(_ text: String) -> Int? {
        let words = text.split(separator: " ")
        guard let number = words.first.flatMap({ Int($0) }) else { return nil }
        guard words.count > 1 else { return number }
        return ["KiB": 10, "MiB": 20, "GiB": 30][String(words[1])].map { number << $0 }
    }
}
