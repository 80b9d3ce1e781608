internal import Dispatch
internal import Foundation

#if os(Linux)
    /// Reports when files or folders are written, replaced, created, removed, or change their owner or mode (inotify(7)).
    ///
    /// A folder is watched with its direct content. Each parent folder is watched for the one name on the path, so that a missing folder is
    /// watched as soon as it is created. A symbolic link is watched together with its target.
    package struct FileWatch: Sendable {
        /// Yields after a change. Changes between two reads are combined into one.
        package let changes: AsyncStream<Void>

        /// Starts to watch, until the stream is dropped. Nil if the kernel provides no inotify watches.
        ///
        /// - Parameter paths: Returns the paths to watch; called again after each change. It may access files.
        package init?(_ paths: @escaping @Sendable () -> [String]) {
            guard let table = FileWatchTable() else { return nil }
            guard table.update(paths()) else {
                table.end()
                return nil
            }
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            // Safe: from here on only the queue uses it.
            nonisolated(unsafe) let watches = table
            // Safe: libdispatch lets any thread cancel a source, and nothing else is done with an active one.
            nonisolated(unsafe) let source = DispatchSource.makeReadSource(
                fileDescriptor: table.descriptor,
                queue: DispatchQueue(label: "ksso.files")
            )
            unsafe source.setEventHandler {
                guard unsafe watches.takeChanges() else { return }
                // The watches are updated first, so that a change after the reader's next look is reported again.
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
    /// The watches of one inotify descriptor with the names of interest in each. Not Sendable: only one queue uses it.
    final class FileWatchTable {
        /// What is of interest in a watched folder or file.
        private struct Interest {
            var path: String
            /// The names that are watched, or that lead to a watched path.
            var names: Set<String> = []
            /// Whether every change is of interest.
            var isWhole = false
        }

        let descriptor: Int32
        private var interests: [Int32: Interest] = [:]

        /// The events of a parent folder, without those of writing files, of which a home folder has many.
        private static let way = UInt32(IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF)
        /// The events of a watched path and of its folder. Opening for reading causes no event.
        private static let whole = way | UInt32(IN_CLOSE_WRITE)

        /// Nil if the user has reached the kernel's limit of inotify instances.
        init?() {
            descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
        }

        /// Closes the descriptor, which ends all watches.
        func end() { close(descriptor) }

        /// Watches these paths and no others; returns false if the kernel provides no more watches.
        func update(_ paths: [String]) -> Bool {
            let old = interests
            interests = [:]
            let isComplete = paths.allSatisfy { add(Self.absolute($0)) }
            for watch in old.keys where interests[watch] == nil { inotify_rm_watch(descriptor, watch) }
            return isComplete
        }

        /// Adds the watches from the root down, so that what is created meanwhile is seen by the watch of its parent.
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
            // A folder can be on several paths, so that the masks are combined.
            let watch = unsafe inotify_add_watch(descriptor, path, mask | UInt32(IN_MASK_ADD))
            // A path that is missing or unreadable is covered by the watches of the folders above or below it.
            guard watch >= 0 else { return errno != ENOSPC && errno != ENOMEM }
            note(&interests[watch, default: Interest(path: path)])
            return true
        }

        private static func absolute(_ path: String) -> String {
            path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        }

        /// Reads the pending events and returns whether one of them is of interest.
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
            // The queue has overflowed and events were lost.
            if mask & UInt32(IN_Q_OVERFLOW) != 0 { return true }
            guard let interest = interests[watch] else { return false }
            // The event is of the folder itself, or of a watched file.
            if name.isEmpty { return interest.isWhole || mask & UInt32(IN_DELETE_SELF | IN_MOVE_SELF) != 0 }
            guard interest.isWhole || interest.names.contains(name) else { return false }
            return mask & UInt32(IN_CREATE) == 0 || !Self.isBeingWritten(interest.path + "/" + name)
        }

        /// Returns whether a file was only created and is still empty: another event follows when it is closed.
        private static func isBeingWritten(_ path: String) -> Bool {
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return false }
            return attributes[.type] as? FileAttributeType == .typeRegular && attributes[.size] as? Int == 0
        }
    }
#endif
