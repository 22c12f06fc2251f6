@testable import HTTPCache

/// A line with paths of ignored members, separated by spaces, and a JSON text. Its canonical form
/// is its own canonical form, is no longer than the text, and has none of the ignored members.
func canonicalJSON(_ bytes: UnsafeBufferPointer<UInt8>) {
    var input = FuzzInput(bytes)
    let paths = input.text().split(separator: " ").map(String.init).filter { MemberPaths.isPath($0) }
    let ignored = MemberPaths(Array(paths.prefix(MemberPaths.limit)))
    let content = input.remaining()
    guard let json = try? CanonicalJSON(content, ignoring: ignored) else { return }
    let form = json.text
    // An ignored item of a list becomes 'null', which may be longer than the item.
    let isShorter = form.count <= content.count || paths.contains { $0.hasSuffix("[*]") }
    require(isShorter, "\(content.count) bytes become \(form.count)")
    for again in [ignored, MemberPaths([])] {
        guard let repeated = try? CanonicalJSON(form, ignoring: again) else {
            return require(false, "the canonical form is no JSON")
        }
        require(repeated == json, "the canonical form has another form")
    }
    // White space between values changes nothing.
    let spaced = try? CanonicalJSON([0x20] + content + [0x0A], ignoring: ignored)
    require(spaced == json, "white space changes the form")
}
