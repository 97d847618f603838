// Package reprisetest lets a Go test call models and tools without calling
// them: every answer comes from a recording beside the test.
//
//	func TestRefund(t *testing.T) {
//		rec := reprisetest.Replay(t, "testdata/refund.reprise", nil)
//		client := openai.NewClient(option.WithHTTPClient(rec.Client()))
//		…
//	}
//
// Nothing is called. A request that the recording does not hold gets status
// 400, and fails the test with the first divergence: which step, which part of
// the request, and where that comes from. So does a recorded request that does
// not come.
//
// With REPRISE_RECORD=1 in the environment the same test makes its calls, and
// the recording is written anew if the test passes. It is signed with the
// user's keys, and secrets are replaced in it.
package reprisetest
