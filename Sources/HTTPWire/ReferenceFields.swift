/// The response fields whose values may name the origin.
package enum ReferenceFields {
    /// - Parameter name: lowercase.
    package static func contains(_ name: String) -> Bool {
        // This runs for every field of every response. The length rules out most fields.
        switch name.utf8.count {
        case 4: name == "link"
        case 7: name == "refresh"
        case 8: name == "location"
        case 10: name == "set-cookie"
        case 16: name == "content-location" || name == "www-authenticate"
        default: false
        }
    }
}
