"""Option: parameters of pauses that no other test case varies, varied together by a covering array of all pairs."""
