internal import ArgumentParser

/// How far a clock is from this machine's: `+5m`, `-90s`.
struct ClockOffset: ExpressibleByArgument {
    static let form = "by how much the clock is off is wanted here, such as +5m or -90s."

    let duration: Duration

    init?(argument: String) {
        let isBehind = argument.hasPrefix("-")
        let rest = isBehind || argument.hasPrefix("+") ? argument.dropFirst() : argument[...]
        if rest == "0" {
            duration = .zero
            return
        }
        guard let lifetime = Lifetime(argument: String(rest)) else { return nil }
        duration = isBehind ? .zero - lifetime.duration : lifetime.duration
    }
}
