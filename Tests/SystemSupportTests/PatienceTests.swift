import SystemSupport
import Testing

@Suite struct PatienceTests {
    @Test(
        arguments: [
            (nil, 1), ("", 1), ("10", 10), ("2.5", 2.5), ("100", 100), ("0", 1), ("0.5", 1), ("101", 1), ("-2", 1), ("nan", 1), ("inf", 1),
            ("ten", 1),
        ] as [(String?, Double)]
    )
    func `the variable is a number from 1 to 100`(value: String?, factor: Double) {
        #expect(Patience.factor(of: value) == factor)
    }

    @Test func `a limit is multiplied in the task and its children`() async {
        #expect(Duration.seconds(2).patient == .seconds(2))
        await Patience.$factor.withValue(10) {
            async let child = Duration.seconds(2).patient
            #expect(await child == .seconds(20))
            #expect(await firstResult(within: .seconds(60)) { Duration.seconds(2).patient } == .seconds(20))
        }
    }
}
