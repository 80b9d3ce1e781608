internal import Foundation

/// How many Unix sockets, of any process, are bound to a path and listen, whether or not the file at the path is theirs (proc(5)).
public func listenerCount(at path: String) throws -> Int {
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/net/unix"))
    let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    return table.split(separator: "\n").count { line in
        let fields = line.split(separator: " ", maxSplits: 7)
        // The flag is __SO_ACCEPTCON.
        return fields.count == 8 && fields[7] == path && fields[3] == "00010000"
    }
}
