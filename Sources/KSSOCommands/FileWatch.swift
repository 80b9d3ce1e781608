internal import Dispatch
internal import Foundation

/// Says when a file was written, replaced or removed (inotify(7)).
enum FileWatch {
    /// Yields after each change; nil where the file's folder can't be watched. Changes in quick succession may become one.
    static func changes(of path: String) -> AsyncStream<Void>? {
        let file = URL(fileURLWithPath: path)
        let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { return nil }
        // The folder: libkrb5 and this project put a new file in the old one's place.
        let mask = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE)
        guard inotify_add_watch(descriptor, file.deletingLastPathComponent().path, mask) >= 0 else {
            close(descriptor)
            return nil
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // It is used by its own queue, and canceled from elsewhere, which dispatch sources allow.
        nonisolated(unsafe) let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        let name = file.lastPathComponent
        source.setEventHandler { if reads(name, from: descriptor) { continuation.yield() } }
        source.setCancelHandler { close(descriptor) }
        continuation.onTermination = { _ in source.cancel() }
        source.activate()
        return stream
    }

    /// Takes the events that are there; whether one of them is of the name.
    private static func reads(_ name: String, from descriptor: Int32) -> Bool {
        var found = false
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            let head = MemoryLayout<inotify_event>.size
            while true {
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + head <= count {
                    let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
                    let end = offset + head + Int(event.len)
                    let text = String(decoding: buffer[(offset + head)..<min(end, count)].prefix { $0 != 0 }, as: UTF8.self)
                    found = found || text == name || event.mask & UInt32(IN_Q_OVERFLOW) != 0
                    offset = end
                }
            }
        }
        return found
    }
}
