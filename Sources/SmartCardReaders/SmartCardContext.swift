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
    let state: UInt

    init(name: String, state: UInt) {
        self.state = state
        reader = SmartCardReader(
            name: name,
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
        let names = try names()
        guard !names.isEmpty else { return [] }
        return try withStates(names.map { ($0, SmartCardConstant.stateUnaware) }) { states throws(SmartCardServiceError) in
            let status = library.getStatusChange(handle, 0, states.baseAddress, UInt(states.count))
            // A reader that was detached meanwhile is missing in the next list.
            if status == SmartCardConstant.unknownReader { return [] }
            if status != SmartCardConstant.timeout { try library.check(status) }
            return zip(names, states).map { ReaderState(name: $0, state: $1.state & ~SmartCardConstant.stateChanged) }
        }
    }

    /// Waits until a state differs from a known one, a reader is attached or detached, a minute passes, or ``cancel()`` is called
    /// (`SCardGetStatusChange`).
    func waitForChange(of known: [ReaderState]) throws(SmartCardServiceError) {
        let notification = (SmartCardConstant.notification, UInt(known.count) << SmartCardConstant.counterShift)
        try withStates(known.map { ($0.reader.name, $0.state) } + [notification]) { states throws(SmartCardServiceError) in
            let status = library.getStatusChange(handle, Self.longestWait, states.baseAddress, UInt(states.count))
            let expected = [SmartCardConstant.timeout, SmartCardConstant.canceled, SmartCardConstant.unknownReader]
            if !expected.contains(status) { try library.check(status) }
        }
    }

    /// Ends the wait of another thread (`SCardCancel`).
    func cancel() { _ = library.cancel(handle) }

    private func names() throws(SmartCardServiceError) -> [String] {
        var length: UInt = 0
        var status = library.listReaders(handle, nil, nil, &length)
        guard status != SmartCardConstant.noReaders else { return [] }
        try library.check(status)
        var bytes = [CChar](repeating: 0, count: Int(length))
        status = library.listReaders(handle, nil, &bytes, &length)
        guard status != SmartCardConstant.noReaders else { return [] }
        try library.check(status)
        // Each name ends with a zero byte, and the list with another one.
        return bytes.prefix(Int(length)).split(separator: 0).map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }

    /// Passes the states of readers to a function of the library, which changes them.
    private func withStates<Value>(
        _ readers: [(name: String, known: UInt)],
        _ body: (UnsafeMutableBufferPointer<smartcard_reader>) throws(SmartCardServiceError) -> Value
    ) throws(SmartCardServiceError) -> Value {
        var states = readers.map { reader in
            var state = smartcard_reader()
            state.name = UnsafePointer(strdup(reader.name))
            state.known = reader.known
            return state
        }
        defer { for state in states { free(UnsafeMutablePointer(mutating: state.name)) } }
        return try states.withUnsafeMutableBufferPointer { states throws(SmartCardServiceError) in try body(states) }
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
