import NegotiateURLSession

print(NegotiatingURLSession.self == NegotiatingURLSession.self ? "works" : "fails")
