internal import CSmartCard

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The functions of libpcsclite, which is loaded when it is first used, so that programs also run where it is not installed.
struct SmartCardLibrary: Sendable {
    let establishContext: smartcard_establish_context
    let releaseContext: smartcard_release_context
    let listReaders: smartcard_list_readers
    let getStatusChange: smartcard_get_status_change
    let cancel: smartcard_cancel
    let text: smartcard_stringify_error

    /// Loads the library, which stays loaded; nil if it is not installed.
    static func load() -> SmartCardLibrary? { dlopen("libpcsclite.so.1", RTLD_NOW | RTLD_LOCAL).flatMap(SmartCardLibrary.init) }

    private init?(_ handle: UnsafeMutableRawPointer) {
        func function<Function>(_ name: String, _: Function.Type) -> Function? {
            dlsym(handle, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let establishContext = function("SCardEstablishContext", smartcard_establish_context.self),
            let releaseContext = function("SCardReleaseContext", smartcard_release_context.self),
            let listReaders = function("SCardListReaders", smartcard_list_readers.self),
            let getStatusChange = function("SCardGetStatusChange", smartcard_get_status_change.self),
            let cancel = function("SCardCancel", smartcard_cancel.self),
            let text = function("pcsc_stringify_error", smartcard_stringify_error.self)
        else { return nil }
        (self.establishContext, self.releaseContext, self.listReaders) = (establishContext, releaseContext, listReaders)
        (self.getStatusChange, self.cancel, self.text) = (getStatusChange, cancel, text)
    }
}

/// The values of winscard.h and pcsclite.h that are used here.
enum SmartCardConstant {
    static let scopeSystem: UInt = 2

    static let success = 0
    static let canceled = 0x8010_0002
    static let timeout = 0x8010_000A
    static let insufficientBuffer = 0x8010_0008
    static let unknownReader = 0x8010_0009
    static let communicationError = 0x8010_0013
    static let noService = 0x8010_001D
    static let serviceStopped = 0x8010_001E
    static let noReaders = 0x8010_002E
    static let securityViolation = 0x8010_006A

    static let stateUnaware: UInt = 0
    static let stateChanged: UInt = 0x2
    static let statePresent: UInt = 0x20
    /// The high half of a state counts the cards that were inserted and removed.
    static let counterShift: UInt = 16

    /// The name that stands for the readers that are attached and detached, with its zero byte.
    static let notification = Array(#"\\?PnP?\Notification"#.utf8CString)
    /// The number of readers that one call can ask about (`PCSCLITE_MAX_READERS_CONTEXTS`).
    static let mostReaders = 16
}
