import ArgumentParser
import CommandLineSupport
import HoldfastConfiguration

/// `holdfast schema`
struct Schema: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints the JSON Schema of configuration files.",
        discussion: """
            For editors and pipelines: JSON Schema 2020-12 with the names, types, words and units of all settings, and their descriptions. 'holdfast check' also checks limits and how settings work \
            together.

            Examples:
              holdfast schema > holdfast.schema.json
              check-jsonschema --schemafile holdfast.schema.json holdfast.yaml
            """
    )

    func run() throws {
        var text = try HoldfastConfiguration.Configuration.schema() + "\n"
        do {
            try text.withUTF8 { try StandardStream.output.write(UnsafeRawBufferPointer($0)) }
        } catch is StandardStream.Closed {
            // The reader closed the pipe and needs no more output.
        }
    }
}
