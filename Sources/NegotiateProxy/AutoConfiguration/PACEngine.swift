internal import Synchronization

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#else
    internal import Darwin
#endif

/// The JavaScript engine of libpacparser, which exists once in a process.
///
/// Its functions are not safe to call with untrusted texts: it inserts the URL and the host into a script without escapes, and
/// version 1.3 writes beyond a buffer if the URL has an apostrophe. ``answer(url:host:)`` therefore accepts only texts that need no
/// escape.
@safe struct PACEngine {
    /// The engine's message for a script that does not parse or throws.
    struct Failure: Error {
        let message: String
    }

    /// The name of Debian's library, in the package libpacparser1.
    static let library = "libpacparser.so.1"

    // A va_list is passed as a pointer on x86-64 and arm64. Swift's type for it cannot be a parameter of a C function.
    private typealias ErrorPrinter = @convention(c) (UnsafePointer<CChar>?, UnsafeRawPointer?) -> Int32
    private typealias Format = @convention(c) (UnsafeMutablePointer<CChar>?, Int, UnsafePointer<CChar>?, UnsafeRawPointer?) -> Int32
    private typealias SetAddress = @convention(c) (UnsafePointer<CChar>?) -> Void
    private typealias Parse = @convention(c) (UnsafePointer<CChar>?) -> Int32
    private typealias Find = @convention(c) (UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> UnsafePointer<CChar>?

    /// What the engine printed since the last call. A C function has no context, so this is global.
    private static let printed = Mutex("")
    private static let format = unsafe DynamicLibrary.program.function("vsnprintf", as: Format.self)

    private let setOwnAddress: SetAddress
    private let parse: Parse
    private let find: Find

    /// Loads the library and starts the engine; nil if the library is not installed.
    init?() {
        guard let library = DynamicLibrary(Self.library),
            let initialize = library.function("pacparser_init", as: (@convention(c) () -> Int32).self),
            let setPrinter = unsafe library.function("pacparser_set_error_printer", as: (@convention(c) (ErrorPrinter) -> Void).self),
            let setAddress = unsafe library.function("pacparser_setmyip", as: SetAddress.self),
            let parse = unsafe library.function("pacparser_parse_pac_string", as: Parse.self),
            let find = unsafe library.function("pacparser_find_proxy", as: Find.self)
        else { return nil }
        unsafe (setOwnAddress, self.parse, self.find) = (setAddress, parse, find)
        unsafe setPrinter { format, arguments in
            guard let format = unsafe format else { return 0 }
            var text = [CChar](repeating: 0, count: 1024)
            let count = unsafe PACEngine.format?(&text, text.count, format, arguments) ?? 0
            let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            PACEngine.printed.withLock { if $0.utf8.count < 4096 { $0 += String(decoding: bytes, as: UTF8.self) } }
            return count
        }
        guard initialize() == 1 else { return nil }
    }

    /// Evaluates a script, which declares FindProxyForURL.
    func load(_ script: String) throws(Failure) {
        Self.printed.withLock { $0 = "" }
        guard unsafe parse(script) == 1 else { throw Failure(message: Self.message) }
    }

    /// Calls FindProxyForURL.
    func answer(url: String, host: String) throws(Failure) -> String {
        guard Self.needsNoEscape(url), Self.needsNoEscape(host), !url.isEmpty, !host.isEmpty else {
            throw Failure(message: "the URL has a character that is not allowed")
        }
        Self.printed.withLock { $0 = "" }
        guard let result = unsafe find(url, host) else { throw Failure(message: Self.message) }
        return unsafe String(cString: result)
    }

    /// Sets what myIpAddress returns. Without it, the engine resolves the machine's name, which Debian maps to 127.0.1.1.
    func setAddress(_ address: String) { unsafe setOwnAddress(address) }

    /// Whether a text can be a part of a script between apostrophes.
    static func needsNoEscape(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\\") }
    }

    /// The message of the engine in one line, such as `line 3: SyntaxError: syntax error`.
    private static var message: String { oneLine(printed.withLock { $0 }) }

    /// The engine prints several lines for one fault, of which the second of those after `JSERROR: NAME:LINE:` is JavaScript's message.
    static func oneLine(_ printed: String) -> String {
        let lines = printed.split(separator: "\n").map { String($0.trimmingPrefix { $0.isWhitespace }) }
        guard let head = lines.firstIndex(where: { $0.hasPrefix("JSERROR: ") }), head + 1 < lines.count else {
            var text = lines.first.flatMap { $0.split(separator: ": ").last } ?? "the engine gives no reason"
            while text.hasSuffix(".") { text.removeLast() }
            return String(text)
        }
        let number = lines[head].split(separator: ":").last.flatMap { Int($0) } ?? 0
        return (number > 0 ? "line \(number): " : "") + lines[head + 1]
    }
}
