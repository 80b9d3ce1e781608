#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// A library that is loaded while the program runs (dlopen(3)).
///
/// Only target Kerberos imports C, at build time. The engine for PAC files is not part of that, because it is needed only by users
/// with a PAC file: neither the build nor the package may require it. This file is the only one that looks up C functions by name;
/// their types are declared where they are called.
@safe struct DynamicLibrary {
    // A handle of dlopen(3), valid as long as the process: the library is never unloaded.
    private nonisolated(unsafe) let handle: UnsafeMutableRawPointer?

    /// Loads a library; nil if it does not exist or cannot be loaded.
    init?(_ name: String) {
        guard let handle = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
        unsafe self.handle = handle
    }

    /// The libraries that the program already has loaded, such as the C library, for its functions with variable arguments.
    static let program = DynamicLibrary()

    private init() { unsafe handle = nil }

    /// A function of the library; nil if it has no such function.
    ///
    /// - Parameter type: The type of the function, which the caller has to know from the library's header.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
        guard let address = unsafe dlsym(handle, name) else { return nil }
        return unsafe unsafeBitCast(address, to: Function.self)
    }
}
