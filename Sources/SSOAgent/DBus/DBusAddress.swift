/// Where the system's message bus is.
enum DBusAddress {
    /// The socket that `DBUS_SYSTEM_BUS_ADDRESS` names, or the one that every system has. Nil where the variable names none that is a path.
    static func systemSocket(environment: [String: String]) -> String? {
        guard let addresses = environment["DBUS_SYSTEM_BUS_ADDRESS"], !addresses.isEmpty else { return "/run/dbus/system_bus_socket" }
        for address in addresses.split(separator: ";") where address.hasPrefix("unix:") {
            for pair in address.dropFirst(5).split(separator: ",") where pair.hasPrefix("path=") {
                if let path = unescaped(pair.dropFirst(5)), path.hasPrefix("/") { return path }
            }
        }
        return nil
    }

    /// A percent sign and two digits stand for a byte.
    private static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        guard !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
