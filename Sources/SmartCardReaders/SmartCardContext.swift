internal import CSmartCard

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A reader, and all that the service says about it (`SCARD_STATE_`).
struct ReaderState {
    let reader: SmartCardReader
    /// The name as the service knows it, which may be no valid UTF-8, with its zero byte.
    let name: [CChar]
    let state: UInt

    init(name: [CChar], state: UInt) {
        (self.name, self.state) = (name, state)
        reader = SmartCardReader(
            name: String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self),
            hasCard: state & SmartCardConstant.statePresent != 0,
            changes: Int(state >> SmartCardConstant.counterShift & 0xffff)
        )
    }
}

/// A connection to the service (`SCARDCONTEXT`).
final class SmartCardContext: Sendable {
    private let library: SmartCardLibrary
    private let handle: Int

    /// How long one wait lasts at most, in milliseconds.
    private static let longestWait: UInt = 60_000

    init() throws(SmartCardServiceError) {
        guard let library = SmartCardLibrary.load() else { throw .libraryMissing }
        var handle = 0
        try library.check(library.establishContext(SmartCardConstant.scopeSystem, nil, nil, &handle))
        self.library = library
        self.handle = handle
    }

    deinit { _ = library.releaseContext(handle) }

    /// The readers and their states (`SCardListReaders`, `SCardGetStatusChange` without a wait).
    func states() throws(SmartCardServiceError) -> [ReaderState] {
        var status = SmartCardConstant.success
        // A reader may be detached after its name was read.
        for _ in 1...3 {
            let names = try names()
            guard !names.isEmpty else { return [] }
            let unaware = SmartCardConstant.stateUnaware
            let found = withStates(names.map { ($0, unaware) }) { states -> [ReaderState] in
                status = library.getStatusChange(handle, 0, states.baseAddress, UInt(states.count))
                return zip(names, states).map { ReaderState(name: $0, state: $1.state & ~SmartCardConstant.stateChanged) }
            }
            if status == SmartCardConstant.success || status == SmartCardConstant.timeout { return found }
            guard status == SmartCardConstant.unknownReader else { break }
        }
        try library.check(status)
        return []
    }

    /// Waits until a state differs from a known one, a reader is attached or detached, a minute passes, or ``cancel()`` is called
    /// (`SCardGetStatusChange`). May return early without a reason.
    func waitForChange(of known: [ReaderState]) throws(SmartCardServiceError) {
        var entries = known.map { ($0.name, $0.state) }
        // Without a count of the past changes, which means something else in each version of the library, the wait begins with this call.
        if entries.count < SmartCardConstant.mostReaders { entries.append((SmartCardConstant.notification, 0)) }
        let status = withStates(entries) { library.getStatusChange(handle, Self.longestWait, $0.baseAddress, UInt($0.count)) }
        let expected = [SmartCardConstant.timeout, SmartCardConstant.canceled, SmartCardConstant.unknownReader]
        if !expected.contains(status) { try library.check(status) }
    }

    /// Ends the wait of another thread (`SCardCancel`).
    func cancel() { _ = library.cancel(handle) }

    /// The names of the readers, each with its zero byte.
    private func names() throws(SmartCardServiceError) -> [[CChar]] {
        var bytes: [CChar] = []
        var status: Int
        repeat {
            var length: UInt = 0
            status = library.listReaders(handle, nil, nil, &length)
            guard status != SmartCardConstant.noReaders else { return [] }
            try library.check(status)
            bytes = [CChar](repeating: 0, count: Int(length))
            status = library.listReaders(handle, nil, &bytes, &length)
            guard status != SmartCardConstant.noReaders else { return [] }
            // A reader was attached between the two calls.
        } while status == SmartCardConstant.insufficientBuffer
        try library.check(status)
        return bytes.split(separator: 0).map { Array($0) + [0] }
    }

    /// Passes the states of readers to a function of the library, which changes them.
    private func withStates<Value>(
        _ readers: [(name: [CChar], known: UInt)],
        _ body: (UnsafeMutableBufferPointer<smartcard_reader>) -> Value
    ) -> Value {
        var states = readers.map { reader in
            var state = smartcard_reader()
            state.name = UnsafePointer(strdup(reader.name))
            state.known = reader.known
            return state
        }
        defer { for state in states { free(UnsafeMutablePointer(mutating: state.name)) } }
        return states.withUnsafeMutableBufferPointer { body($0) }
    }
}

extension SmartCardLibrary {
    fileprivate func check(_ status: Int) throws(SmartCardServiceError) {
        switch status {
        case SmartCardConstant.success: return
        case SmartCardConstant.noService, SmartCardConstant.serviceStopped, SmartCardConstant.communicationError: throw .noAnswer
        case SmartCardConstant.securityViolation: throw .forbidden
        default:
            let text = text(status).map { String(cString: $0) } ?? "error \(status)"
            throw .failed(text.hasSuffix(".") ? String(text.dropLast()) : text)
        }
    }
}
