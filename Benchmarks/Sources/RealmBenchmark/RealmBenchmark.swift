import BenchmarkSupport
import Foundation

/// Measures the time from the start of a realm with a user, a service and a keytab to its first ticket, compared in one run with k5test and
/// with the programs alone.
@main enum RealmBenchmark {
    static func main() async {
        do {
            let k5test = await PythonEnvironment.install("k5test", packages: ["k5test==0.10.4"], modules: ["k5test"])
            try await Comparison(k5test: k5test).run()
            try await Suites.run()
        } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }
}
