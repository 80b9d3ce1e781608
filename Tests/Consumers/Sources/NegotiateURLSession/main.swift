import NegotiateURLSession

// That this program builds and starts is the test.
print("works with \(NegotiatingURLSession.self)")
