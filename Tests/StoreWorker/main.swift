import FaultShim
import FaultWorkload
import OfflineStore

// A process that uses a store, for tests that end its life, its disk or its power:
//
//     store-worker load FOLDER SEED COUNT LANES BUDGET [MODE AT]
//         runs a seeded workload, with a line before and after each operation
//     store-worker sweep FOLDER SEED MODE ERROR LENGTH FROM STRIDE LIMIT AGE
//         runs the tour again and again, each time with a fault at another file operation
//     store-worker revise FOLDER MODE AT
//         moves stored responses to other keys
//     store-worker share FOLDER AT SEED
//         purges as a node of a fleet, until the power fails
//     store-worker follow FOLDER URL COUNT
//         follows a store that another process writes, with a line for each change
//     store-worker logout FOLDER COUNT ERASING MODE AT
//         removes everything of one of three principals while all of them store more
//     store-worker backup FOLDER BACKUP [MODE AT]
//         backs up a store, with a fault at a file operation next to the backup
//     store-worker download FOLDER URL MODE ERROR AT
//         downloads a file through the request layer
//
// AGE is 'old' for a store that is filled before the fault, else 'new'. MODE is 'kill', 'torn' or
// 'cut' with 'load' and 'backup', 'kill', 'torn' or 'none' with 'logout', and 'error' or 'short'
// with 'sweep'. ERASING is 'erasing' to overwrite removed content, or 'plain'. With 'revise' and
// 'download' it is 'none', or any of these except 'short'.

let words = Array(CommandLine.arguments.dropFirst())
switch words.first {
case "load": await Load(words)?.run()
case "sweep": await Sweep(words)?.run()
case "revise": await Revise(words)?.run()
case "share": await Share(words)?.run()
case "follow": await Follow(words)?.run()
case "logout": await LogOut(words)?.run()
case "backup": await BackUp(words)?.run()
case "download": await Download(words)?.run()
default: Line.write("usage: see Tests/StoreWorker/main.swift")
}
