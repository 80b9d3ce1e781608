internal import Foundation
internal import SignOnPolicy

/// What a program that sends its requests through the local proxy must know.
struct ProxyClient: Sendable {
    let context: SettingsContext

    /// The URL of the proxy.
    var url: String { "http://\(context.proxy)" }

    /// The hosts that are reached without the proxy: this machine's own, and those of the profiles' `NoProxy`.
    var exceptions: [String] {
        (["localhost", "127.0.0.1", "::1"] + context.configurations.flatMap(\.noProxy)).withoutRepetitions
    }

    /// The value of `no_proxy`.
    var exceptionList: String { exceptions.joined(separator: ",") }

    /// The variables that programs read. Most read the names in lower case, some those in upper case; curl ignores `HTTP_PROXY`, because a
    /// web server sets it for its CGI programs from a field of the request.
    var variables: [(name: String, value: String)] {
        [
            ("http_proxy", url), ("https_proxy", url), ("no_proxy", exceptionList), ("HTTP_PROXY", url), ("HTTPS_PROXY", url),
            ("NO_PROXY", exceptionList),
        ]
    }

    /// The note for every program.
    var note: String { "The proxy at \(context.proxy) must run: ksso proxy run" }

    /// The note for a program that connects as another user than the one that runs the proxy.
    func note(of program: String, connectingAs user: String) -> String {
        "\(program) connects to the proxy as the user \(user). A proxy of another user admits it with: ksso proxy run --admit \(user) "
            + "(for ksso-proxy.service: systemctl --user edit ksso-proxy, see ksso(1))"
    }
}
