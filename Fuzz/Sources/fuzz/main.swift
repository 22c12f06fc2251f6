import CFuzzDriver

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

// fuzz TARGET [libFuzzer's arguments]; 'fuzz' alone lists the targets.

guard CommandLine.arguments.count > 1 else {
    for target in FuzzTarget.all { print(target.name) }
    exit(0)
}
guard FuzzTarget.chosen != nil else {
    print("No target is called '\(CommandLine.arguments[1])'. Without arguments, 'fuzz' lists them.")
    exit(64)
}

var count = CommandLine.argc - 1
// The target's name replaces the program's name.
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(
    LLVMFuzzerRunDriver(&count, &arguments) { data, size in
        FuzzTarget.chosen?.run(UnsafeBufferPointer(start: data, count: size))
        return 0
    }
)
