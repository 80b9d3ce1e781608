/// The version of the programs of this package, which are released together.
package enum ProgramVersion {
    package static let current = "0.1.0"
}
