/// Finds the socket of the system bus.
enum DBusAddress {
    /// Returns the path in `DBUS_SYSTEM_BUS_ADDRESS`, or the standard path if the variable is not set. Returns nil if the variable names no
    /// path.
    static func systemSocket(environment: [String: String]) -> String? {
        guard let addresses = environment["DBUS_SYSTEM_BUS_ADDRESS"], !addresses.isEmpty else { return "/run/dbus/system_bus_socket" }
        for address in addresses.split(separator: ";") where address.hasPrefix("unix:") {
            for pair in address.dropFirst(5).split(separator: ",") where pair.hasPrefix("path=") {
                if let path = unescaped(pair.dropFirst(5)), path.hasPrefix("/") { return path }
            }
        }
        return nil
    }

    /// Decodes percent-encoded bytes.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = String(decoding: rest.prefix(2), as: UTF8.self)
            // UInt8 would also accept a sign.
            guard digits.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
