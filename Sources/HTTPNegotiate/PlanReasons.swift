/// The rules that were considered for a plan. They are sentences for people and of no use to a request, so they are written when they are
/// read.
struct PlanReasons: Sendable {
    private let origin: Origin
    /// Nil where the reasons were given.
    private let policy: DecisionPolicy?
    private let given: [DecisionReason]

    init(_ policy: DecisionPolicy, for origin: Origin) { (self.policy, self.origin, given) = (policy, origin, []) }

    init(_ given: [DecisionReason], for origin: Origin) { (policy, self.origin, self.given) = (nil, origin, given) }

    var all: [DecisionReason] { policy?.reasonsToAnswer(origin) ?? given }
}

extension PlanReasons: Hashable {
    static func == (left: PlanReasons, right: PlanReasons) -> Bool { left.all == right.all }

    func hash(into hasher: inout Hasher) { hasher.combine(all) }
}
