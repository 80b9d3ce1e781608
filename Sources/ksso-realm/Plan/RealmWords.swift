internal import ArgumentParser
internal import CommandSupport
internal import Foundation
internal import KerberosTesting

extension NetworkFault {
    /// The names of the faults, for the completion of a shell. A name that ends in `=` requires a value.
    static let names = [
        "pass", "drop", "drop-reply", "refuse", "black-hole", "reply-too-big", "corrupt", "corrupt-request", "delay=", "truncate=",
        "error=",
    ]

    /// The syntax of faults.
    static let forms =
        "a fault is one of pass, drop, drop-reply, refuse, black-hole, reply-too-big, corrupt, corrupt-request, "
        + "delay=200ms, truncate=20 and error=CODE, such as error=29."

    /// Parses a fault such as `drop`, `delay=200ms` or `error=29`.
    init?(words: String) {
        let parts = words.split(separator: "=", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count > 1 ? parts[1] : nil) {
        case ("pass", nil): self = .pass
        case ("drop", nil): self = .drop
        case ("drop-reply", nil): self = .drop(.reply)
        case ("refuse", nil): self = .refuse
        case ("black-hole", nil): self = .blackHole
        case ("reply-too-big", nil): self = .replyTooBig
        case ("corrupt", nil): self = .corrupt
        case ("corrupt-request", nil): self = .corrupt(.request)
        case ("delay", let time?):
            guard let duration = Self.duration(time) else { return nil }
            self = .delay(duration)
        case ("truncate", let length?):
            guard let length = Int(length), length >= 0 else { return nil }
            self = .truncate(to: length)
        case ("error", let code?):
            guard let code = Int32(code), code >= 0 else { return nil }
            self = .error(KDCErrorCode(rawValue: code))
        default: return nil
        }
    }

    /// Parses milliseconds, or a ``Lifetime``.
    private static func duration(_ text: String) -> Duration? {
        guard text.hasSuffix("ms") else { return Lifetime(argument: text)?.duration }
        return Int(text.dropLast(2)).flatMap { $0 >= 0 ? .milliseconds($0) : nil }
    }
}

extension RealmTrust {
    /// Parses a trust such as `A.TEST -> B.TEST`, or `A.TEST <-> B.TEST` for both directions.
    init?(words: String) {
        guard let (ends, isMutual) = Self.ends(of: words), ends.allSatisfy({ !$0.isEmpty }) else { return nil }
        self = isMutual ? .twoWay(ends[0], ends[1]) : .oneWay(from: ends[0], to: ends[1])
    }

    /// What is wrong with a trust among these realms; nil if nothing is.
    static func fault(ofWords words: String, among names: [String]) -> String? {
        guard let ends = ends(of: words)?.realms else { return nil }
        if ends[0] == ends[1] { return "\(ends[0]) cannot trust itself." }
        guard let missing = ends.first(where: { !names.contains($0) }) else { return nil }
        return "there is no realm \(missing) among \(names.joined(separator: ", "))."
    }

    private static func ends(of words: String) -> (realms: [String], isMutual: Bool)? {
        for (arrow, isMutual) in [("<->", true), ("->", false)] {
            let ends = words.components(separatedBy: arrow).map { $0.trimmingCharacters(in: .whitespaces) }
            if ends.count == 2 { return (ends, isMutual) }
        }
        return nil
    }
}

/// An offset from this machine's clock, such as `+5m` or `-90s`.
struct ClockOffsetArgument: ExpressibleByArgument {
    static let form = "a clock offset is required, such as +5m, -90s or 0."

    let duration: Duration

    init?(argument: String) {
        let isBehind = argument.hasPrefix("-")
        let rest = isBehind || argument.hasPrefix("+") ? argument.dropFirst() : argument[...]
        if rest.wholeMatch(of: /0+[smhd]?/) != nil {
            duration = .zero
            return
        }
        guard let lifetime = Lifetime(argument: String(rest)) else { return nil }
        duration = isBehind ? .zero - lifetime.duration : lifetime.duration
    }
}

extension KerberosTestingError {
    /// The error in terms of the command, without advice that applies only to Swift.
    var commandText: String { "\(self)".replacing(/, or set pluginDirectory to its directory/, with: "") }
}
