internal import Dispatch
internal import Foundation

#if os(Linux)
    /// Says when files or folders are written, replaced, made, removed, or given to somebody else (inotify(7)).
    ///
    /// A folder is watched with all that is in it. So is each folder on the way, by the one name that matters there, and one that is
    /// missing as soon as it is made; a link is watched, and what it leads to.
    package struct FileWatch: Sendable {
        /// Yields after a change. Several changes that nobody looked at are one.
        package let changes: AsyncStream<Void>

        /// Begins to watch, until the stream is dropped. Nil where the kernel gives no watch.
        ///
        /// - Parameter paths: What is watched, asked anew after each change. It may look at files.
        package init?(_ paths: @escaping @Sendable () -> [String]) {
            guard let table = FileWatchTable() else { return nil }
            guard table.update(paths()) else {
                table.end()
                return nil
            }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Safe: from here on the queue alone has it.
            nonisolated(unsafe) let watches = table
            // Safe: libdispatch lets any thread cancel a source; nothing else is done with it once it is active.
            nonisolated(unsafe) let source = DispatchSource.makeReadSource(
                fileDescriptor: table.descriptor,
                queue: DispatchQueue(label: "ksso.files")
            )
            unsafe source.setEventHandler {
                guard unsafe watches.takeChanges() else { return }
                // First the new watches: what changes after the look that follows is seen again.
                _ = unsafe watches.update(paths())
                continuation.yield()
            }
            unsafe source.setCancelHandler {
                unsafe watches.end()
                continuation.finish()
            }
            continuation.onTermination = { _ in unsafe source.cancel() }
            unsafe source.activate()
            changes = stream
        }
    }
    /// The watches of one inotify descriptor, and what matters of each. Not Sendable: it belongs to one queue.
    final class FileWatchTable {
        /// What matters of the folder, or the file, behind a watch.
        private struct Interest {
            var path: String
            /// The names that lead on to what is watched.
            var names: Set<String> = []
            /// Whether everything matters.
            var isWhole = false
        }

        let descriptor: Int32
        private var interests: [Int32: Interest] = [:]

        /// Of a folder on the way: no word of the files that are written there, which in a home are many.
        private static let way = UInt32(IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
        /// Of what is watched, and of its folder. What is opened for reading alone changes nothing.
        private static let whole = way | UInt32(IN_CLOSE_WRITE)

        /// Nil where the user has as many descriptors of this kind as the kernel allows.
        init?() {
            descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
        }

        /// Nothing is seen any more.
        func end() { close(descriptor) }

        /// Watches these paths and no others; false where the kernel gives no more watches.
        func update(_ paths: [String]) -> Bool {
            let old = interests
            interests = [:]
            let isComplete = paths.allSatisfy { add(Self.absolute($0)) }
            for watch in old.keys where interests[watch] == nil { inotify_rm_watch(descriptor, watch) }
            return isComplete
        }

        /// From the root on: what is made meanwhile is seen by the folder above it.
        private func add(_ path: String) -> Bool {
            var folder = "/"
            let names = path.split(separator: "/").map(String.init)
            for (offset, name) in names.enumerated() {
                let isLast = offset == names.count - 1
                guard add(folder, isLast ? Self.whole : Self.way, { $0.names.insert(name) }) else { return false }
                folder += folder == "/" ? name : "/" + name
            }
            return add(folder, Self.whole) { $0.isWhole = true }
        }

        private func add(_ path: String, _ mask: UInt32, _ note: (inout Interest) -> Void) -> Bool {
            // One folder may be on several ways.
            let watch = unsafe inotify_add_watch(descriptor, path, mask | UInt32(IN_MASK_ADD))
            // What is missing, or may not be read, is seen from above or below.
            guard watch >= 0 else { return errno != ENOSPC && errno != ENOMEM }
            note(&interests[watch, default: Interest(path: path)])
            return true
        }

        private static func absolute(_ path: String) -> String {
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        }

        /// Takes the events that are there; whether one of them matters.
        func takeChanges() -> Bool {
            var found = false
            unsafe withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
                let head = MemoryLayout<inotify_event>.size
                while true {
                    let count = unsafe read(descriptor, buffer.baseAddress, buffer.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    var offset = 0
                    while offset + head <= count {
                        let event = unsafe buffer.load(fromByteOffset: offset, as: inotify_event.self)
                        let end = offset + head + Int(event.len)
                        let name = unsafe String(decoding: buffer[(offset + head)..<min(end, count)].prefix { $0 != 0 }, as: UTF8.self)
                        found = found || matters(event.wd, event.mask, name)
                        offset = end
                    }
                }
            }
            return found
        }

        private func matters(_ watch: Int32, _ mask: UInt32, _ name: String) -> Bool {
            // Some were lost.
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            guard let interest = interests[watch] else { return false }
            // The folder itself, or a file.
            if name.isEmpty { return interest.isWhole || mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF) != 0 }
            guard interest.isWhole || interest.names.contains(name) else { return false }
            return mask & UInt32(IN_CREATE) == 0 || !Self.isBeingWritten(interest.path + "/" + name)
        }

        /// Whether a file was only opened: its end is another event.
        private static func isBeingWritten(_ path: String) -> Bool {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return false }
            return attributes[.type] as? FileAttributeType == .typeRegular && attributes[.size] as? Int == 0
        }
    }
#endif
