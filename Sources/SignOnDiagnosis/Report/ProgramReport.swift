package import SignOnPolicy

/// The settings of a program, compared with the profile for one origin or with the local proxy.
package struct ProgramReport: Sendable {
    /// A kind of program, each of which has a check of its own.
    package enum Kind: Sendable {
        /// Browsers, which make their own tokens for an origin.
        case browser(Origin)
        /// git, which makes its own tokens for an origin.
        case git(Origin)
        /// Programs whose settings name a local proxy.
        case proxyClient
    }

    /// Something that the settings lack, or that contradicts the profile.
    package struct Fault: Sendable {
        /// A sentence.
        package let text: String
        /// The command that helps; nil if the text says what to do.
        package let remedy: String?

        /// Creates a fault.
        package init(_ text: String, remedy: String?) {
            self.text = text
            self.remedy = remedy
        }
    }

    /// The program's name for messages.
    package let name: String
    /// What is wrong; empty if nothing is.
    package let faults: [Fault]

    /// Creates a report.
    package init(name: String, faults: [Fault]) {
        self.name = name
        self.faults = faults
    }
}
