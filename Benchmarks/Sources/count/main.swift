import Cases

// count CASE TIMES: does one operation that many times, for a tool that counts instructions.
// 'count' alone lists the cases.

let arguments = CommandLine.arguments.dropFirst()
if let name = arguments.first, let times = arguments.dropFirst().first.flatMap({ Int($0) }) {
    guard let chosen = Case.all.first(where: { $0.name == name }) else { fatalError("No case is called '\(name)'.") }
    chosen.run(times)
} else {
    for known in Case.all { print(known.name) }
}
